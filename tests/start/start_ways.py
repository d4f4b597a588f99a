"""The ways in which a program can be started, and what its console exporter has printed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

SCRIPTS = Path(sys.executable).parent
# Way of starting -> the command, and the variables that say so.
WAYS = {
    "stock": ("opentelemetry-instrument", {"without": "fastpath"}),
    "eager": ("opentelemetry-instrument", {"OTEL_FASTPATH_LAZY_INSTRUMENTATIONS": "off"}),
    "lazy": ("opentelemetry-instrument", {}),
    "run": ("otel-fastpath", {}),
}


def command(way, *words):
    """The command line of a way of starting."""
    name = WAYS[way][0]
    return [str(SCRIPTS / name), *(["run"] if name == "otel-fastpath" else []), *map(str, words)]


def spans(output):
    """What the console exporter printed, without ids and times; other lines are left out."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := output.find("{\n", at)) >= 0:
        span, at = decoder.raw_decode(output, at)
        found.append(span)
    names = {span["context"]["span_id"]: span["name"] for span in found}
    kept = ("name", "kind", "attributes", "status", "events")
    rows = [{**{key: span[key] for key in kept}, "parent": names.get(span["parent_id"])} for span in found]
    return sorted(rows, key=json.dumps)
