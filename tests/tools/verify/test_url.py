"""`otel-fastpath verify --url` and `profile --url` send the requests to a service by themselves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from disabled_instrumentations import all_but

from examples.demo.processes import free_port

SERVICE = """
import http.server
import sys
from opentelemetry import trace

tracer = trace.get_tracer("shop")

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with tracer.start_as_current_span(self.path, attributes={"items": 3}):
            body = b"[1, 2, 3]"
        self.send_response(200 if self.path == "/orders" else 404)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_page_is_asked_for_and_compared(verify):
    """Twenty times after it has answered; the spans that arrive are those of its requests."""
    port = str(free_port())
    code, found, errors = verify("--url", f"http://127.0.0.1:{port}/orders", program=SERVICE, arguments=[port])

    assert (code, errors) == (0, "")
    assert found["counts"]["span"] == 21


@pytest.mark.parametrize("path", ["nothing"])
def test_a_page_that_is_not_there_is_no_comparison(verify, path):
    """One line says what it answers."""
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/{path}"
    code, found, errors = verify("--url", url, program=SERVICE, arguments=[port])

    assert (code, found) == (4, None)
    assert errors.splitlines()[-1].startswith(f"otel-fastpath: asking for {url} ended with exit status 1: ")
    assert "20 of 20 requests failed: status 404" in errors


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
@pytest.mark.parametrize(("path", "code"), [("orders", 0), ("nothing", 2)])
def test_a_profile_of_a_page(tmp_path, monkeypatch, path, code):
    """It is asked for meanwhile; without an answer that counts there is no report."""
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", all_but("fastpath"))
    (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
    port = str(free_port())
    url = f"http://127.0.0.1:{port}/{path}"
    command = [sys.executable, "-m", "otel_fastpath", "profile", "--no-progress", "--json", "report.json"]
    done = subprocess.run(
        [*command, "--url", url, "--clients", "2", "--seconds", "4", "service.py", port],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == code, done.stderr
    if code:
        assert f"otel-fastpath: --url {url}: " in done.stderr
        assert "requests failed: status 404 (" in done.stderr
        assert not (tmp_path / "report.json").exists()
    else:
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["schema"]
        assert "requests failed" not in done.stderr
