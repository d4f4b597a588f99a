"""Nothing huge is kept: thousands of long names, keys and values leave memory as it was, on both cores."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics.view import View

PATHS = (
    "names_of_spans",
    "keys",
    "scopes",
    "taken_away",
    "beyond_a_limit",
    "models",
    "paths",
    "series_of_errors",
    "exceptions",
    "exception_sites",
)
# `make test` has one of spans, measurements, OpenAI, HTTP and exceptions.
USUAL = {"keys", "taken_away", "models", "paths", "exceptions"}
# How long, and how many: in the default profile, and with OTEL_FASTPATH_TESTS=heavy.
SIZES = ((10_000, 2_000), (100_000, 400))
if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy":
    SIZES = ((10_000, 10_000), (100_000, 10_000))
PROGRAM = Path(__file__).with_name("growth.py")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the resident size is read from /proc")


@pytest.mark.parametrize(("length", "count"), [SIZES[0], pytest.param(*SIZES[1], marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path in USUAL else [pytest.mark.slow]) for path in PATHS],
)
def test_long_names_leave_nothing(core, path, length, count):
    """Spans, events, links, scopes, metrics, models, paths and exceptions with long names, encoded where they are."""
    if path == "beyond_a_limit" and "aggregation_cardinality_limit" not in inspect.signature(View).parameters:
        pytest.skip("this SDK has no limit of cardinality")
    command = [sys.executable, str(PROGRAM), path, core, str(length), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 10
