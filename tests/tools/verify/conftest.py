"""Runs `otel-fastpath verify` as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from disabled_instrumentations import all_but


@pytest.fixture(scope="module")
def verify(tmp_path_factory):
    """`verify("--as-is", program="...")`: the exit status, the JSON report or None, and what was written to stderr."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the OTLP exporter is not installed")
    folder = tmp_path_factory.mktemp("verify")
    environ = {key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")}
    environ["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = all_but("fastpath", "logging")

    def run(*options, program="", arguments=(), timeout=300):
        file = folder / "program.py"
        file.write_text(program, encoding="utf-8")
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        command = [sys.executable, "-m", "otel_fastpath", "verify", "--json", str(report), *options]
        done = subprocess.run(
            [*command, sys.executable, str(file), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=environ,
        )
        found = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
        return done.returncode, found, done.stderr

    return run
