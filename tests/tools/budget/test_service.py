"""`otel-fastpath bench --url`: a real service, measured without telemetry, with stock OpenTelemetry and with us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from disabled_instrumentations import all_but

from examples.demo.processes import free_port
from otel_fastpath.tools.bench import turns
from otel_fastpath.tools.common import cpu

APP = """
from fastapi import FastAPI

app = FastAPI()

@app.get("/orders/{number}")
async def order(number: int):
    return {"number": number}
"""
pytestmark = pytest.mark.skipif(bool(cpu.why_not()), reason=cpu.why_not() or "it runs here")
# It sets OpenTelemetry up by itself, and sends to a place of its own, too.
OWN = """
import os, socket
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
socket.socket().connect_ex(("192.0.2.1", 443))

async def app(scope, receive, send):
    if scope["type"] == "http":
        tracer = provider.get_tracer("shop")
        for name in ("one", "two"):
            with tracer.start_as_current_span(name):
                pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})
"""


@pytest.fixture
def bench(tmp_path):
    """`bench(source, *options, path="/orders/3", **variables)`: the command, finished, for a service of uvicorn's."""
    pytest.importorskip("uvicorn")

    def start(source, *options, path="/orders/3", **variables):
        (tmp_path / "app.py").write_text(source, encoding="utf-8")
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--no-access-log"]
        url = f"http://127.0.0.1:{port}{path}"
        options = (
            "--url",
            url,
            "--rounds",
            "1",
            "--seconds",
            "0.5",
            "--clients",
            "1",
            "--json",
            "report.json",
            *options,
        )
        return run(*options, *command, cwd=tmp_path, **variables)

    return start


def run(*arguments, cwd=None, **variables):
    """The finished command."""
    return subprocess.run(
        [sys.executable, "-m", "otel_fastpath", "bench", *arguments],
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
        cwd=cwd,
        env={
            **{key: value for key, value in os.environ.items() if "START_LINE" in key or not key.startswith("OTEL")},
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": all_but("fastpath", "fastapi"),
            **variables,
        },
    )


def test_a_service_is_measured_in_three_ways(bench, tmp_path):
    """Requests are answered in each way, and the service's CPU time is told from ours."""
    done = bench(APP)

    assert done.returncode == 0, done.stderr
    ways = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["ways"]
    assert list(ways) == ["bare", "stock", "fastpath"]
    assert all(ways[way][0]["received"]["traces"] >= ways[way][0]["requests"] for way in ("stock", "fastpath"))
    assert ways["bare"][0]["received"] == {}
    assert "5 rounds or more say how sure that is" in done.stdout
    for way, [turn] in ways.items():
        assert turn["failed"] == 0, way
        assert turn["rate"] > 0, way
        assert 10 < turn["microseconds"] < 1e6 / turn["rate"] * os.cpu_count(), way
    # Stock OpenTelemetry more than doubles the CPU time of such a request.
    assert ways["stock"][0]["microseconds"] > 1.2 * ways["bare"][0]["microseconds"]


@pytest.mark.slow
def test_a_service_that_sets_itself_up_is_measured_as_it_is(bench, tmp_path):
    """Over gRPC, without another instrumentation; otel-fastpath is added, and what the service tries is named."""
    pytest.importorskip("grpc")
    done = bench(OWN)

    assert done.returncode in {0, 3}, done.stderr
    ways = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["ways"]
    for way in ("stock", "fastpath"):
        # The batch that is exported last may be cut off.
        assert 1.5 < ways[way][0]["received"]["traces"] / ways[way][0]["requests"] <= 2.1, way
    assert ways["bare"][0]["received"] == {}
    assert "stock is the command as given, which sets OpenTelemetry up" in done.stdout
    assert f"refused: 192.0.2.1:443, tried by {tmp_path / 'app.py'}:" in done.stdout


@pytest.mark.parametrize(
    ("options", "path", "variables", "message"),
    [
        ((), "/order/3", {}, "/order/3 does not answer as expected: "),
        (("--status", "404"), "/orders/3", {}, " x status 200 (--status CODE if that is the answer to measure)"),
        ((), "/orders/3", {"OTEL_SDK_DISABLED": "true"}, "stock: no telemetry of requests was received: OTEL_SDK_DIS"),
        pytest.param(
            (),
            "/orders/3",
            {"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "fastpath"},
            "fastpath: otel-fastpath was not loaded in the service: OTEL_PYTHON_DISABLED_INSTRUMENTATIONS is fastpath",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["mistyped URL", "another answer", "SDK disabled", "not loaded"],
)
def test_a_figure_rests_on_what_was_received(bench, tmp_path, options, path, variables, message):
    """Where it does not, there is none, and the exit status is an error's."""
    done = bench(APP, *options, path=path, **variables)

    assert (done.returncode, done.stdout) == (4, "")
    assert message in done.stderr
    assert not (tmp_path / "report.json").exists()


@pytest.mark.parametrize(
    ("installed", "reason"),
    [
        ({}, "no distro is installed, which sets up OpenTelemetry: pip install opentelemetry-distro"),
        (
            {"opentelemetry_configurator": ["configurator"]},
            "no exporter is installed: pip install opentelemetry-exporter-otlp-proto-http",
        ),
        (
            {"opentelemetry_configurator": ["c"], "opentelemetry_traces_exporter": ["console", "otlp"]},
            "no instrumentation is installed: opentelemetry-bootstrap --action=install",
        ),
    ],
    ids=["distro", "exporter", "instrumentation"],
)
def test_what_is_not_installed_is_named(monkeypatch, installed, reason):
    """The first that is missing of what `opentelemetry-instrument` needs."""
    monkeypatch.delenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", raising=False)
    found = {**installed, "opentelemetry_instrumentor": ["fastpath"]}
    monkeypatch.setattr(
        turns.metadata, "entry_points", lambda group: [SimpleNamespace(name=name) for name in found.get(group, ())]
    )

    assert turns.why_not_installed() == reason


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--url", "localhost"), 2, "--url localhost: expected a URL such as http://127.0.0.1:8000/orders"),
        (("--url", "http://[x", "true"), 2, "--url http://[x: expected a URL such as http://127.0.0.1:8000/orders"),
        (("--url", "http://localhost:x/", "true"), 2, "--url http://localhost:x/: expected a URL such as"),
        (("--url", "http://192.0.2.1/", "true"), 2, "--url http://192.0.2.1/: expected a URL of this machine, such as"),
        (("--url", "http://localhost"), 2, "--url http://localhost: expected the command that starts the service"),
        (("--url", "http://localhost", "--clients", "0", "true"), 2, "--clients 0: expected"),
        (("--url", "http://localhost", "--seconds", "0", "true"), 2, "--seconds 0: expected"),
        (("uvicorn", "app:app"), 2, "uvicorn app:app: expected --url, too"),
        (("--url", "http://127.0.0.1:1", "no\x1bprogram"), 4, "bench: no\\x1bprogram: no such program"),
        (("--url", "http://127.0.0.1:1", "false"), 4, "bench: the program ended with exit status 1 before it was"),
    ],
)
def test_what_cannot_be_measured(arguments, status, message):
    """One line that names the value."""
    done = run(*arguments)

    assert done.returncode == status
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
