"""A server on loopback that stands for the vendor's: it keeps each request and answers as the vendor would."""

from __future__ import annotations

import gzip
import ssl
import threading
import zlib
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from vendor_checks.protocols import answer_to

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Request:
    """What came.

    Attributes:
        method: GET, POST, ...
        path: With the query.
        headers: By name in lower case.
        body: Uncompressed.
    """

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """The server; use it as a context manager.

    Attributes:
        requests: In the order in which they came.
    """

    def __init__(self, answers: Mapping[str, str] | None = None, certificate: Path | None = None) -> None:
        """Answer with `answers`, JSON by path, before what the protocol says; over TLS with a certificate."""
        self._scheme = "https" if certificate else "http"
        self.requests: list[Request] = []
        requests = self.requests
        by_path = {path: (200, "application/json", text.encode()) for path, text in (answers or {}).items()}

        class Handler(_Handler):
            kept = requests
            fixed = by_path

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def address(self) -> str:
        """Its URL, without a path."""
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Receiver:  # noqa: PYI034  # typing.Self is 3.11's
        """Begin to answer."""
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_given: Any) -> None:
        """Say nothing: a process that ends drops its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept: list[Request]
    fixed: Mapping[str, tuple[int, str, bytes]]

    def _any(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        request = Request(self.command, self.path, headers, uncompressed(body, headers.get("content-encoding", "")))
        self.kept.append(request)
        status, kind, content = self.fixed.get(self.path) or answer_to(request)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_HEAD = do_DELETE = _any  # noqa: N815  # the names that http.server calls

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def log_message(self, *_given: Any) -> None:
        """Say nothing."""


def uncompressed(body: bytes, encoding: str) -> bytes:
    """The body as it was before it was compressed in this way."""
    if encoding == "gzip":
        return gzip.decompress(body)
    return zlib.decompress(body) if encoding == "deflate" else body
