"""A service's page is found by what its processes listen at, and what they answer."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

from otel_fastpath.tools.common import cpu
from otel_fastpath.tools.common.program import ProgramError, stop
from otel_fastpath.tools.trial import addresses

pytestmark = pytest.mark.skipif(bool(cpu.why_not()), reason=cpu.why_not() or "it runs here")
SERVICE = """
import http.server, json, socket, sys
STATUS, PATHS = json.loads(sys.argv[1])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"paths": PATHS}).encode()
        of_paths = PATHS.get(self.path, {}).get("is", 404)
        found = {"/": STATUS, "/openapi.json": 200 if PATHS else 404}.get(self.path, of_paths)
        self.send_response(found)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
# A port that does not speak HTTP, opened before.
other = socket.socket(); other.bind(("127.0.0.1", 0)); other.listen()
import threading
def answer():
    while True:
        other.accept()[0].sendall(b"hello\\n")
threading.Thread(target=answer, daemon=True).start()
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""

AT_PATH = """
import socket, tempfile, time
other = socket.socket(socket.AF_UNIX)
other.bind(tempfile.mkdtemp() + "/s")
other.listen()
time.sleep(60)
"""


@pytest.fixture
def started():
    """`started(*command)`: a process in a group of its own, and what it prints."""
    with tempfile.TemporaryFile() as output:
        processes = []

        def start(*command):
            process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
            processes.append(process)
            return process, output

        yield start
        for each in processes:
            stop(each)


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        ("[200, {}]", "/"),
        ("[302, {}]", "/"),
        (
            '[404, {"/orders/{number}": {"get": {}}, "/new": {"post": {}}, "/orders": {"get": {}, "is": 200}}]',
            "/orders",
        ),
        ('[401, {"/private": {"get": {}, "is": 401}, "/health": {"get": {}, "is": 204}}]', "/health"),
    ],
)
def test_the_first_page_that_answers_is_found(started, answers, path):
    """`/`, or a path of its description; its other ports may speak another protocol."""
    process, output = started(sys.executable, "-c", SERVICE, answers)
    url = addresses.find_url(process, output, 20.0)

    output.seek(0)
    assert url == f"http://127.0.0.1:{int(output.readline())}{path}"
    assert addresses.is_python(process.pid)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ((sys.executable, "-c", SERVICE, "[404, {}]"), r"answers with status 404: name another page by --url$"),
        ((sys.executable, "-c", SERVICE, "[401, {}]"), r"answers with status 401 \(it needs a login\): name another"),
        ((sys.executable, "-c", "raise SystemExit('no database')"), r"ended with exit status 1: no database$"),
        ((sys.executable, "-c", "input()"), r"ended with exit status 1"),
        (
            (sys.executable, "-c", "import time; time.sleep(60)"),
            r"no port of the service has answered a request within",
        ),
        (
            (sys.executable, "-c", AT_PATH),
            r"the service listens at the Unix socket .*/s, and at no port: let it listen at one$",
        ),
        (("sleep", "60"), r"it is not a Python program, and does not answer requests$"),
    ],
)
def test_what_is_wrong_is_said(started, command, message):
    """In one sentence."""
    process, output = started(*command)

    with pytest.raises(ProgramError, match=message):
        addresses.find_url(process, output, 3.0)
