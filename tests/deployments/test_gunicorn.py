"""docs/gunicorn.md: each span of each worker arrives, however it ends."""

from __future__ import annotations

import signal
import sys

import pytest

from .conftest import block_of, wait_until

pytestmark = [pytest.mark.source, pytest.mark.skipif(sys.platform == "win32", reason="gunicorn is not for Windows")]
APPLICATION = """
import flask
{instrumented}
app = flask.Flask("shop")

@app.get("/items/<int:item>")
def read(item):
    return str(item)
"""
IN_CODE = "from opentelemetry.instrumentation.flask import FlaskInstrumentor\nFlaskInstrumentor().instrument()"
WAYS = {"code": (), "opentelemetry-instrument": ("opentelemetry-instrument",), "run": ("otel-fastpath", "run")}
NAME = "GET /items/<int:item>"


def each(*usual):
    """Each way of setting up, and with and without `--preload`; but for the usual ones, they are slow tests."""
    return pytest.mark.parametrize(
        ("way", "options"),
        [
            pytest.param(way, options, marks=() if (way, options) in usual else pytest.mark.slow)
            for way in WAYS
            for options in ((), ("--preload",))
        ],
    )


@pytest.fixture
def serve(deploy, tmp_path):
    """Starts the service under gunicorn, set up in one of the ways."""
    pytest.importorskip("flask")
    pytest.importorskip("gunicorn")

    def start(way, *options):
        is_code = way == "code"
        (tmp_path / "app.py").write_text(APPLICATION.format(instrumented=IN_CODE if is_code else ""))
        if is_code:
            (tmp_path / "gunicorn.conf.py").write_text(block_of("gunicorn.md", "def post_fork"))
        return deploy(*WAYS[way], "gunicorn", "app:app", "--bind", "127.0.0.1:{port}", "--workers", "2", *options)

    return start


@each(("code", ("--preload",)), ("opentelemetry-instrument", ()))
def test_it_is_stopped(serve, way, options):
    """By SIGTERM: the workers export what they have."""
    service = serve(way, *options)
    service.ask(5)

    assert service.stop() == {NAME: 5}


@each(("run", ()))
def test_its_workers_are_replaced(serve, way, options):
    """By SIGHUP: the new workers are set up, and the old ones export what they have."""
    service = serve(way, *options)
    service.ask(5)
    service.child.process.send_signal(signal.SIGHUP)
    wait_until(lambda: service.log().count("Booting worker") == 4 and "Worker exiting" in service.log(), service.child)
    service.ask(5)

    assert service.stop() == {NAME: 10}


@each(("code", ()))
def test_workers_end_after_so_many_requests(serve, way, options):
    """With `--max-requests`."""
    service = serve(way, "--max-requests", "3", *options)
    service.ask(20)

    assert service.stop() == {NAME: 20}
    assert service.log().count("Booting worker") > 4
