"""Reads the sources that patches replace from every release again, and writes an issue about those that are new.

    python tests/upstream/new_sources.py build/new-sources.md

The files that list the known sources are written anew, as by `make sources`. The issue names
each target whose source has a fingerprint that was not in its file, and the releases that have it. If nothing is new,
the issue is empty. Exit status 2 means that the releases could not be read.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
_LIBRARY = (sys.executable, "tests/others/library_fingerprints.py")
_GENAI = "otel_fastpath/others/genai_calls/sources.json"
_HTTP = "otel_fastpath/http/sources.json"
_DBAPI = "otel_fastpath/db/dbapi/sources.json"
_PROPAGATORS = "otel_fastpath/others/propagators/sources.json"
_CELERY = "otel_fastpath/messaging/celery/sources.json"
_KAFKA = "otel_fastpath/messaging/kafka_python/sources.json"
_AIOKAFKA = "otel_fastpath/messaging/aiokafka/sources.json"
_PIKA = "otel_fastpath/messaging/pika/sources.json"
_AIO_PIKA = "otel_fastpath/messaging/aio_pika/sources.json"
_CONFLUENT = "otel_fastpath/messaging/confluent_kafka/sources.json"
_ANTHROPIC = "otel_fastpath/genai/anthropic/sources.json"
_GRPC = "otel_fastpath/rpc/grpc/sources.json"
_BOTOCORE = "otel_fastpath/cloud/botocore/sources.json"
_SUPPRESSION = "otel_fastpath/others/suppression/sources.json"
# File -> the command that writes it.
COMMANDS = {
    "otel_fastpath/trace/sources.json": ("make", "sources", "NAME=core"),
    "otel_fastpath/others/version_lookups.json": (sys.executable, "tests/others/lookup_fingerprints.py"),
    "otel_fastpath/others/openai_sources.json": (sys.executable, "tests/others/openai_fingerprints.py"),
    _GENAI: (*_LIBRARY, _GENAI),
    _HTTP: (*_LIBRARY, _HTTP),
    _DBAPI: (*_LIBRARY, _DBAPI),
    _PROPAGATORS: (*_LIBRARY, _PROPAGATORS),
    _CELERY: (*_LIBRARY, _CELERY),
    _KAFKA: (*_LIBRARY, _KAFKA),
    _AIOKAFKA: (*_LIBRARY, _AIOKAFKA),
    _CONFLUENT: (*_LIBRARY, _CONFLUENT),
    _PIKA: (*_LIBRARY, _PIKA),
    _AIO_PIKA: (*_LIBRARY, _AIO_PIKA),
    _ANTHROPIC: (*_LIBRARY, _ANTHROPIC),
    _GRPC: (*_LIBRARY, _GRPC),
    _BOTOCORE: (*_LIBRARY, _BOTOCORE),
    _SUPPRESSION: (*_LIBRARY, _SUPPRESSION),
}


def fingerprints(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fingerprints of a target at whatever depth, each with its releases in one line."""
    for name, value in known.items():
        if isinstance(value, dict):
            yield from fingerprints(value)
        else:
            yield name, value if isinstance(value, str) else " ".join(value)


def new(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Target -> fingerprint -> releases, for the fingerprints that are in the second file only."""
    found: dict[str, dict[str, str]] = {}
    for target, known in after.items():
        old = dict(fingerprints(before.get(target, {})))
        added = {each: releases for each, releases in fingerprints(known) if each not in old}
        if added:
            found[target] = added
    return found


def issue(found: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    """The text of the issue, for file -> target -> fingerprint -> releases; empty if there is no target."""
    lines = []
    for file, targets in found.items():
        if not targets:
            continue
        lines += ["", f"`{file}`:", "", "| target | fingerprint | releases |", "| --- | --- | --- |"]
        for target, added in sorted(targets.items()):
            lines += [f"| `{target}` | `{each}` | {releases} |" for each, releases in added.items()]
    if not lines:
        return ""
    return "\n".join(
        [
            "New releases changed code that patches of this package replace. With these releases the patches are not",
            "applied and stock's code runs, until each change has been read. For each target:",
            "",
            "1. Compare its source with that of the release before.",
            "2. Change the patch where the telemetry would differ, with a test.",
            "3. Run `make sources` with `NAME=core` and `NAME=others`, and then `make test-releases NAME=newest`.",
            *lines,
            "",
        ]
    )


def read() -> tuple[dict[str, dict[str, dict[str, str]]], int]:
    """Run each command, and compare what it wrote with what was there; with the exit status of this program."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for file, command in COMMANDS.items():
        path = ROOT / file
        before = json.loads(path.read_text(encoding="utf-8"))
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode:
            print(f"{' '.join(command)} failed with {done.returncode}", file=sys.stderr)
            return found, 2
        found[file] = new(before, json.loads(path.read_text(encoding="utf-8")))
    return found, 0


def main() -> int:
    """Read the sources, and write the issue."""
    target = Path(sys.argv[1])
    found, status = read()
    if status:
        return status
    text = issue(found)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    print(text or "Every source is known.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
