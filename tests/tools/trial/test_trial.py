"""`otel-fastpath try`: a real service, and what is said of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from disabled_instrumentations import all_but

from examples.demo.processes import free_port
from otel_fastpath.tools.common import cpu

pytestmark = pytest.mark.skipif(bool(cpu.why_not()), reason=cpu.why_not() or "it runs here")
APP = """
from fastapi import FastAPI

app = FastAPI()

@app.get("/orders")
async def orders():
    return [1, 2]
"""
# It sets OpenTelemetry up by itself, and emits something else with otel-fastpath.
OWN = """
import sys
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

async def app(scope, receive, send):
    if scope["type"] == "http":
        with provider.get_tracer("shop").start_as_current_span("one") as span:
            span.set_attribute("instrumented", {IS})
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})
"""
IS_FASTPATH = 'any(name.startswith("otel_fastpath.trace") for name in sys.modules)'


@pytest.fixture
def tried(tmp_path):
    """`tried(source, *options)`: the command, finished, for a service of uvicorn's."""
    pytest.importorskip("uvicorn")

    def start(source, *options, **variables):
        (tmp_path / "app.py").write_text(source, encoding="utf-8")
        service = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(free_port()), "--no-access-log"]
        return run("--json", "report.json", *options, *service, cwd=tmp_path, **variables)

    return start


def run(*arguments, cwd=None, **variables):
    """The finished command."""
    return subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "try", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        cwd=cwd,
        env={
            **{key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")},
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but("fastpath", "fastapi"),
            **variables,
        },
    )


@pytest.mark.timeout(300)
def test_a_service_is_tried(tried, tmp_path):
    """Its page is found; what telemetry costs, what it would cost, what arrives, and what to do next are said."""
    done = tried(APP, "--seconds", "1")

    # In two rounds, which are the fewest, a busy machine may hide what otel-fastpath costs.
    assert done.returncode in {0, 3}, done.stderr + done.stdout
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["url"].endswith("/orders")
    assert report["is_the_same"] is True
    # A request has a server span and two of its messages; one more asks whether the service is ready.
    assert report["counts"]["span"] == 3 * 21
    assert max(report["microseconds"]["bare"], report["microseconds"]["fastpath"]) < report["microseconds"]["stock"]
    assert any("ASGI" in each["library"] for each in report["rest"])
    assert report["next"].startswith("start it by `opentelemetry-instrument ")
    for line in (
        "now ",
        "with otel-fastpath  ",
        "what arrives        the same: ",
        "otel-fastpath takes away ",
        "next: ",
    ):
        assert f"\n{line}" in done.stdout, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_answer_comes_in_time(tried, tmp_path):
    """In 90 seconds; with an interval, if this machine starts the service fast."""
    begun = time.monotonic()
    done = tried(APP)

    assert done.returncode == 0, done.stderr + done.stdout
    assert time.monotonic() - begun < 95
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    low, high = report["interval"] or (report["saved"], report["saved"])
    assert 0.4 < low <= report["saved"] <= high < 1.0
    assert (report["interval"] is None) == (len(report["ways"]["bare"]) < 5)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_service_that_differs_is_an_error(tried, tmp_path):
    """The first difference is shown, and the command that shows all of them."""
    done = tried(OWN.replace("{IS}", IS_FASTPATH), "--seconds", "1")

    assert done.returncode == 1, done.stderr + done.stdout
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["is_the_same"] is False
    assert "what arrives        differs: span one: attributes.instrumented: " in done.stdout
    assert report["next"].startswith("see each difference: otel-fastpath verify --ready http://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ((), 2, "try: expected the command that starts the service, e.g. otel-fastpath try uvicorn app:app"),
        (("--clients", "0", "uvicorn"), 2, "--clients 0: expected a number from 1 upwards"),
        (("--seconds", "-1", "uvicorn"), 2, "--seconds -1: expected a number of seconds above 0"),
        (("--url", "nowhere", "uvicorn"), 2, "--url nowhere: expected a URL such as http://127.0.0.1:8000/orders"),
        (("no-such-program",), 4, "try: no-such-program: no such program"),
        ((sys.executable, "-c", "raise SystemExit('no database')"), 4, "ended with exit status 1: no database"),
        (("python", "-m", "http.server", "--bind", "127.0.0.1", "{port}"), 4, "no telemetry of requests was received"),
    ],
)
def test_what_cannot_be_tried(tmp_path, arguments, status, message):
    """One sentence, and a status other than 0."""
    done = run(*(each.replace("{port}", str(free_port())) for each in arguments), cwd=tmp_path)

    assert done.returncode == status, done.stdout + done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
