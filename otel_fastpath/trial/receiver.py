"""A receiver of OTLP over HTTP on the loopback interface, which keeps the export requests of each run apart."""

from __future__ import annotations

import gzip
import threading
import zlib
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

SIGNALS: Final = ("traces", "metrics", "logs")
_HOST: Final = "127.0.0.1"
_DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "identity": bytes,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
}
# A client that stops in the middle of a request must not keep its thread.
_TIMEOUT: Final = 60.0


class Receiver:
    """Receives OTLP over HTTP while it is used in a `with` statement.

    The first part of the path is the name of the run: POST /{run}/v1/{signal}.
    """

    def __init__(self) -> None:
        self._bodies: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
        self._server = ThreadingHTTPServer((_HOST, 0), type("Handler", (_Handler,), {"keep": self._keep}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Receiver:  # noqa: PYI034  # Self is not in Python 3.10
        """Start to receive."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()

    def endpoint(self, run: str) -> str:
        """The value of OTEL_EXPORTER_OTLP_ENDPOINT for a run."""
        return f"http://{_HOST}:{self._server.server_address[1]}/{run}"

    def bodies(self, run: str, signal: str) -> list[bytes]:
        """The export requests that a run has sent so far, decompressed, in their order.

        Args:
            run: The name of the run.
            signal: One of `SIGNALS`.
        """
        return list(self._bodies.get((run, signal), ()))

    def forget(self) -> None:
        """Drop what was received so far."""
        self._bodies.clear()

    def _keep(self, run: str, signal: str, body: bytes) -> None:
        self._bodies[run, signal].append(body)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection. OTLP's answer to an export request is an empty message."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT
    keep: Callable[[str, str, bytes], None]

    def do_POST(self) -> None:
        """Keep the body of an export request."""
        run, _, signal = self.path.strip("/").partition("/v1/")
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if signal not in SIGNALS:
            self._answer(404)
            return
        try:
            self.keep(run, signal, _DECODERS[self.headers.get("content-encoding", "identity")](body))
        except (KeyError, OSError, EOFError, zlib.error):
            self._answer(400)
            return
        self._answer(200)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the base class's
        """Log nothing: requests are no news."""
