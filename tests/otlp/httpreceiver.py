"""A receiver of OTLP over HTTP on loopback, and one request to it."""

from __future__ import annotations

import functools
import socket
import threading

HEADERS = {"content-type": "application/x-protobuf", "user-agent": "test", "x-key": "secret"}


class Receiver:
    """Keeps what comes in, to the byte, and answers 200 unless told otherwise."""

    def __init__(self):
        self.got = []
        self.status = "200 OK"
        self.extra = ""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/traces"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            while head := b"".join(iter(functools.partial(lines.readline), b"\r\n")):
                sizes = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                self.got.append((head, lines.read(int(sizes[0].partition(b":")[2]))))
                connection.sendall(f"HTTP/1.1 {self.status}\r\n{self.extra}Content-Length: 0\r\n\r\n".encode())


def sent(transport, receiver, data=b"body", **options):
    """Send, and give what came of it."""
    return transport.request("POST", receiver.url, headers={**HEADERS, **options}, data=data, timeout=5)
