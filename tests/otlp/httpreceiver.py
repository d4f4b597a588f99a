"""A receiver of OTLP over HTTP on loopback, and one request to it."""

from __future__ import annotations

import contextlib
import socket
import threading

HEADERS = {"content-type": "application/x-protobuf", "user-agent": "test", "x-key": "secret"}
# Seconds for what takes milliseconds.
PATIENCE = 60


class Receiver:
    """Keeps what comes in, to the byte, and answers 200 unless told otherwise."""

    def __init__(self):
        self.got = []
        self.status = "200 OK"
        self.extra = ""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1/traces"
        self.connections = [self.listener]
        self.threads = []
        self._start(self._accept)

    def close(self):
        """End every connection and every thread: one that goes on would take a processor from all later tests."""
        for each in self.connections:
            with contextlib.suppress(OSError):
                # Closing alone would leave the thread waiting in `accept` or `recv`.
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for each in self.threads:
            each.join(60)
        assert not [each for each in self.threads if each.is_alive()]

    def _start(self, target, *arguments):
        self.threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self.threads[-1].start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection):
        with connection, connection.makefile("rb") as lines:
            while head := self._head(lines):
                sizes = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
                self.got.append((head, lines.read(int(sizes[0].partition(b":")[2]))))
                connection.sendall(f"HTTP/1.1 {self.status}\r\n{self.extra}Content-Length: 0\r\n\r\n".encode())

    @staticmethod
    def _head(lines):
        """The lines before the empty one; nothing where the connection was closed."""
        head = []
        for line in iter(lines.readline, b""):
            if line == b"\r\n":
                return b"".join(head)
            head.append(line)
        return b""


def sent(transport, receiver, data=b"body", **options):
    """Send, and give what came of it."""
    return transport.request("POST", receiver.url, headers={**HEADERS, **options}, data=data, timeout=PATIENCE)
