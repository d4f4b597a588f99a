"""What `otel-fastpath profile` starts reaches the loopback interface only; OTLP goes to the command's own receiver."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, socket, time
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult

exporter = OTLPSpanExporter()
with TracerProvider().get_tracer("shop").start_as_current_span("order") as span:
    pass
print(exporter.export([span]) is SpanExportResult.SUCCESS, socket.socket().connect_ex(("192.0.2.1", 443)), flush=True)
end = time.process_time() + 1
while time.process_time() < end:
    pass
"""


def test_a_profiled_program_sends_nothing(tmp_path):
    """Its exporter succeeds, and what it tries to reach elsewhere is refused and named."""
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the OTLP exporter is not installed")
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "profile", "--no-progress", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://192.0.2.1:4318"},
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "True 111"
    assert f"refused: 192.0.2.1:443, tried by {tmp_path / 'program.py'}:10" in done.stderr
    assert "4318" not in done.stderr
