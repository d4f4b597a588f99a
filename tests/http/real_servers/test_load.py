"""200 clients at a time: no span is lost, mixed up or left open, and the memory stays as it was."""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import os
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from conversations import HOST, PATIENCE, server, telemetry

# OTEL_FASTPATH_TESTS=heavy does as much as the project promises.
SECONDS = 60 if os.environ.get("OTEL_FASTPATH_TESTS") == "heavy" else 5
CLIENTS = 200
# What the process may grow by once all kinds of requests were served: a span that is kept takes more for each request.
MOST_KILOBYTES = 6 * 1024
PATHS = ["/ok", "/ok", "/stream", "/ok", "/boom", "/ok", "/stream", "/gone"]
UVICORN = ["uvicorn", "--port", "{port}", "--log-level", "critical", "--backlog", "1024"]
GUNICORN = ["gunicorn", "--bind", "127.0.0.1:{port}", "--log-level", "critical"]
SERVERS = {
    "asgi": [*UVICORN, "--http", "httptools", "--loop", "uvloop", "watched_asgi:asgi"],
    "wsgi": [*GUNICORN, "--worker-class", "gthread", "--threads", "16", "watched_wsgi:wsgi"],
    "aiohttp": ["aiohttp.web", "-P", "{port}", "-H", HOST, "watched_aiohttp:application"],
}


async def _request(port, path, number):
    """Send a request on a connection of its own; return how it ended."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        parent = f"00-{number:032x}-{number:016x}-01"
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nx-number: {number}\r\n"
            f"traceparent: {parent}\r\n\r\n".encode()
        )
        if path == "/gone":
            return "gone" if await reader.read(12) == b"HTTP/1.1 200" else "refused"
        answer = await reader.read()
        head, _, body = answer.partition(b"\r\n\r\n")
        if path == "/boom":
            return "failed" if b" 500 " in head[:16] else "wrong"
        return "answered" if str(number).encode() in body else "wrong"
    finally:
        writer.close()


async def _load(port, numbers, seconds):
    """Keep the clients busy for this long; return how often a request ended in which way."""
    ends = Counter()
    deadline = time.monotonic() + seconds

    async def client(first):
        for path in itertools.islice(itertools.cycle(PATHS), first, None):
            if time.monotonic() > deadline:
                return
            ends[await asyncio.wait_for(_request(port, path, next(numbers)), PATIENCE)] += 1

    await asyncio.gather(*(client(number % len(PATHS)) for number in range(CLIENTS)))
    return ends


def _settled(port, served):
    """What the server found, once it has nothing more to do."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = telemetry(port)
        if (found["ended"] >= served and not found["open"]) or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the server's memory is read from /proc")
@pytest.mark.parametrize("core", ["py", "c"])
@pytest.mark.parametrize("name", SERVERS)
def test_many_clients(tmp_path, name, core):
    """Answers, streams, errors and clients that leave, from 200 clients for a while."""
    if core == "c" and importlib.util.find_spec("otel_fastpath.trace.context.scope_c") is None:
        pytest.skip("the core is not compiled")
    for module in ("uvicorn", "httptools", "uvloop", "gunicorn"):
        pytest.importorskip(module)
    with server(SERVERS[name], core, tmp_path) as port:
        numbers = itertools.count(1)
        first = asyncio.run(_load(port, numbers, SECONDS / 2))
        before = _settled(port, first.total())
        second = asyncio.run(_load(port, numbers, SECONDS))
        after = _settled(port, first.total() + second.total())

    served = first.total() + second.total()
    assert served > CLIENTS
    assert {*first, *second} == {"answered", "failed", "gone"}
    assert after["mixed"] == []
    assert (after["ended"], after["open"], after["active"]) == (served, 0, 0)
    assert after["inner"] == after["durations"] == served
    assert after["kilobytes"] - before["kilobytes"] < MOST_KILOBYTES
    print(f"{name} {core}: {served} requests, {after['kilobytes'] - before['kilobytes']} KiB")  # noqa: T201  # with -s
