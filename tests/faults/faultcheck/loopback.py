"""An HTTP server in a process of its own, for workloads with clients. It ends with its standard input."""
# ruff: noqa: T201  # a program that prints its port

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def start() -> tuple[subprocess.Popen[str], str]:
    """Start one; gives the process, which lives as long as this one, and the URL."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A client that leaves is no news.
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    return process, f"http://127.0.0.1:{int(process.stdout.readline())}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer leaves as a whole, and at once.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer with the status that the path names."""
        length = int(self.headers.get("Content-Length", 0))
        received = self.rfile.read(length)
        name = self.path.strip("/").partition("?")[0]
        if name == "close":
            self.close_connection = True
            return
        body = b"%s %s" % (self.command.encode(), received)
        self.send_response(302 if name == "redirect" else int(name or 200))
        if name == "redirect":
            self.send_header("Location", "/200")
        self.send_header("X-Answer", "yes")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the name is the base's

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
