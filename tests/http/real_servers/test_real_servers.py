"""Requests to real servers have the same spans and metrics, and the same answers, as with the stock code alone."""

from __future__ import annotations

import functools
import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conversations import conversation, server, settled

UVICORN = ["uvicorn", "served_asgi:asgi", "--port", "{port}", "--log-level", "warning"]
GUNICORN = ["gunicorn", "--bind", "127.0.0.1:{port}", "--workers", "1"]
API = ("/api/items/3", "/api/items/no", "/api/boom", "/api/nothing")
# Paths of websockets; nobody answers the last two.
SOCKETS = ("/talk", "/api/talk/me", "/api/talk/nobody", "/api/nothing")
# Name: the command, the modules that it needs, and further paths that are requested.
SERVERS = {
    "uvicorn-h11": ([*UVICORN, "--http", "h11", "--loop", "asyncio"], ["uvicorn", "h11"], API),
    "uvicorn-httptools": ([*UVICORN, "--http", "httptools", "--loop", "asyncio"], ["uvicorn", "httptools"], API),
    "uvicorn-uvloop": ([*UVICORN, "--http", "httptools", "--loop", "uvloop"], ["uvicorn", "httptools", "uvloop"], API),
    "gunicorn-uvicorn": (
        [*GUNICORN, "-k", "uvicorn.workers.UvicornWorker", "served_asgi:asgi"],
        ["gunicorn", "uvicorn"],
        API,
    ),
    "hypercorn": (["hypercorn", "--bind", "127.0.0.1:{port}", "served_asgi:asgi"], ["hypercorn"], API),
    "granian": (["granian", "--interface", "asgi", "--port", "{port}", "served_asgi:asgi"], ["granian"], API),
    "gunicorn-sync": ([*GUNICORN, "served_wsgi:wsgi"], ["gunicorn"], ()),
    "aiohttp.web": (
        ["aiohttp.web", "-P", "{port}", "-H", "127.0.0.1", "served_aiohttp:aiohttp_application"],
        ["aiohttp"],
        (),
    ),
}
QUICK = {"uvicorn-httptools", "gunicorn-sync"}
# The requests of a conversation, without further paths.
REQUESTS = 11


def _expected(paths):
    """The number of server spans: only the servers of ASGI are asked for further paths, and for websockets."""
    return REQUESTS + (len(paths) + 2 * len(SOCKETS) if paths else 0)


@pytest.fixture(scope="session")
def outcome(tmp_path_factory):
    """Runs a server with a core or "stock"; returns what the client saw, the spans and the metrics."""

    @functools.cache
    def run(name, core):
        command, modules, paths = SERVERS[name]
        for module in modules:
            pytest.importorskip(module)
        with server(command, core, tmp_path_factory.mktemp("servers")) as port:
            seen = conversation(port, paths, SOCKETS if paths else ())
            return seen, *settled(port, _expected(paths))

    return run


@pytest.mark.skipif(sys.platform == "win32", reason="some of the servers need Unix")
@pytest.mark.parametrize("core", ["py", "c"])
@pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in SERVERS]
)
def test_telemetry_behind_a_server(outcome, name, core):
    """Answers, errors before and after their start, streams, HEAD, kept connections, websockets, clients that leave."""
    if core == "c" and importlib.util.find_spec("otel_fastpath.trace.context.scope_c") is None:
        pytest.skip("the core is not compiled")
    seen, spans, points = outcome(name, "stock")
    our_seen, our_spans, our_points = outcome(name, core)

    assert our_seen == seen
    assert our_spans == spans
    assert our_points == points
    servers = [span for span in our_spans if '"kind": "SERVER"' in span]
    assert len(servers) == _expected(SERVERS[name][2])
