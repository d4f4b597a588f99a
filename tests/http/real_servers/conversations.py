"""Starts a server of `served.py`, sends it requests of every kind, and asks it for its telemetry."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path

from examples.demo.processes import free_port

HERE = Path(__file__).parent
HOST = "127.0.0.1"
PATIENCE = 90
REMOTE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TELEMETRY = "/telemetry"
# The length of a websocket's text from the client, and the mask that leaves it as it is.
MASKED = b"\x84\0\0\0\0"
HEADERS = {"Host": "example.com", "User-Agent": "curl/8"}


@contextmanager
def server(command, core, folder, **variables):
    """Run a server; the value is its port.

    Args:
        command: Its command, with `{port}` in the place of the port.
        core: "stock", or the core of this package.
        folder: Where its output is kept.
        variables: Further environment variables.
    """
    port = free_port()
    filled = [sys.executable, "-m", *(part.format(port=port) for part in command)]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "SERVED_CORE": core, "NO_PROXY": "*", **variables}
    environment.pop("OTEL_SEMCONV_STABILITY_OPT_IN", None)
    output = folder / f"{core}.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(filled, cwd=HERE, env=environment, stdout=file, stderr=subprocess.STDOUT)
        try:
            _wait_for(process, port, output)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(process, port, output):
    deadline = time.monotonic() + PATIENCE
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(output.read_text("utf-8", "replace")[-3000:])
        time.sleep(0.05)


def _answers(port):
    try:
        return telemetry(port)
    except OSError:
        return None


def telemetry(port):
    """The spans and metrics of the server so far."""
    with closing(http.client.HTTPConnection(HOST, port, timeout=PATIENCE)) as connection:
        connection.request("GET", TELEMETRY)
        return json.loads(connection.getresponse().read())


def _get(connection, method, path, **headers):
    """Send a request on a connection that is kept; return what a client sees."""
    body = b"four" if method == "POST" else None
    connection.request(method, path, body, {**HEADERS, **headers})
    answer = connection.getresponse()
    try:
        found = answer.read()
    except (http.client.HTTPException, OSError):
        # The server broke off an answer that it had begun.
        found = "broken off"
    if found == "broken off" or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        # Some servers close the connection then, and do not say so.
        connection.close()
    return answer.status, found


def _leave(port, path):
    """Read the beginning of an answer, and go."""
    with closing(socket.create_connection((HOST, port), timeout=PATIENCE)) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: example.com\r\n\r\n".encode())
        return connection.recv(12)


def _talk(port, path, *, says_goodbye):
    """Open a websocket, have a text sent back, and close it, or just go; return what the client saw."""
    with (
        closing(socket.create_connection((HOST, port), timeout=PATIENCE)) as connection,
        connection.makefile("rb") as told,
    ):
        names = f"Host: example.com\r\ntraceparent: {REMOTE}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        socket_names = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        connection.sendall(f"GET {path} HTTP/1.1\r\n{names}{socket_names}\r\n".encode())
        status = told.readline()[9:12]
        while told.readline() != b"\r\n":
            pass
        if status != b"101":
            return status
        connection.sendall(b"\x81" + MASKED + b"four")
        answer = told.read(6)
        if says_goodbye:
            connection.sendall(b"\x88\x80" + MASKED[1:])
            told.read()
        return status, answer


def conversation(port, paths=(), sockets=()):
    """Send requests of every kind, one after the other; return what the client saw.

    Args:
        port: The server's.
        paths: Further paths.
        sockets: The paths of websockets; each is opened twice.
    """
    seen = []
    with closing(http.client.HTTPConnection(HOST, port, timeout=PATIENCE)) as connection:
        seen += [
            _get(connection, "GET", "/ok"),
            _get(connection, "GET", "/ok?sig=SECRET&a=1", traceparent=REMOTE),
            _get(connection, "HEAD", "/ok"),
            _get(connection, "POST", "/echo"),
            _get(connection, "GET", "/nothing/here"),
        ]
        seen += [_get(connection, "GET", path) for path in ("/stream", "/boom", "/ok", "/late", "/ok", *paths)]
    seen += [_talk(port, path, says_goodbye=each) for path in sockets for each in (True, False)]
    return [*seen, _leave(port, "/gone")]


def settled(port, most):
    """The telemetry once this many requests have ended, ordered, and without what differs between two runs."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = telemetry(port)
        ended = [span for span in found["spans"] if span["kind"] == "SERVER"]
        active = [point["value"] for point in found["points"] if "active" in point["name"]]
        if (len(ended) >= most and not any(active)) or time.monotonic() > deadline:
            return _comparable(found["spans"], port), _comparable(found["points"], port)
        time.sleep(0.05)


def _comparable(found, port):
    # Stock's middleware of ASGI records the size of an earlier response where one has none.
    kept = [each for each in found if not each["name"].startswith("http.server.response")]
    for each in kept:
        for name in ("net.peer.port", "client.port"):
            each["attributes"].pop(name, None)
    return sorted(json.dumps(each, sort_keys=True).replace(str(port), "PORT") for each in kept)
