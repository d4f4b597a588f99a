"""Beside each supported release, all is patched that there is: `make test-releases NAME=lowest` asks the lowest."""

from __future__ import annotations

import json
import subprocess
import sys

from newer_releases import older

# What did not exist before a release of a distribution.
FIRST = {
    "logs.exception": ("opentelemetry-sdk", "1.42"),
    "logs.structlog": ("opentelemetry-instrumentation-structlog", "0.65b0"),
    "logs.structlog_exception": ("opentelemetry-instrumentation-structlog", "0.65b0"),
    "otlp.http_metrics_count": ("opentelemetry-exporter-otlp-proto-http", "1.44"),
    "otlp.http_request": ("opentelemetry-exporter-http-transport", "0.66b0"),
    "fastapi_own.operation": ("fastapi", "0.142.4"),
    "fastapi_own.request": ("fastapi", "0.142.4"),
    "fastapi_own.stack": ("fastapi", "0.142.4"),
    "versions.schema_url": ("opentelemetry-instrumentation", "0.62b0"),
}
# Those of the other folders are of libraries and instrumentations that need not be installed.
CORE = {"trace", "metrics", "logs", "otlp"}
PROGRAM = """
import contextlib, importlib, json, sys, warnings
from otel_fastpath import FastpathInstrumentor
from otel_fastpath.features import FEATURES

warnings.simplefilter("ignore")
instrumentor = FastpathInstrumentor()
instrumentor.instrument(disabled="exceptions")
patches = {patch.name: (feature.name, patch) for feature in FEATURES for patch in feature.all_patches()}
for _, patch in patches.values():
    with contextlib.suppress(Exception):
        importlib.import_module(patch.module)
rows = {row.name: (row.state.value, row.reason) for row in instrumentor.status()}
json.dump([(name, feature, *rows[name]) for name, (feature, _) in patches.items() if name in rows], sys.stdout)
"""


def test_nothing_is_skipped_but_what_did_not_exist():
    """And each patch of the SDK and the exporters is applied."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    missing = {name for name, first in FIRST.items() if older(*first)}

    assert [each for each in found if each[2] == "skipped" and each[0] not in missing] == []
    assert [each for each in found if each[1] in CORE and each[2] != "applied" and each[0] not in missing] == []
    assert {name for name, _, state, _ in found if state == "applied"}.isdisjoint(missing)
