"""A receiver of OTLP on the loopback interface, over HTTP and gRPC, which keeps each run's export requests apart."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import socket
import threading
import zlib
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
# What a connection of HTTP/2, and so of gRPC, begins with.
_HTTP_2: Final = b"PRI * HTTP/2.0"
_METHODS: Final = {
    f"/opentelemetry.proto.collector.{package}.v1.{service}/Export": signal
    for signal, package, service in (
        ("traces", "trace", "TraceService"),
        ("metrics", "metrics", "MetricsService"),
        ("logs", "logs", "LogsService"),
    )
}
_LARGEST: Final = 1 << 16
# The types of a field in protobuf's encoding.
_VARINT: Final = 0
_FIXED_64: Final = 1
_BYTES: Final = 2


# The scopes of metrics that say how the process and its telemetry are doing, whatever it does.
OF_THE_PROCESS: Final = ("opentelemetry-sdk", "opentelemetry.sdk", "opentelemetry.instrumentation.system_metrics")
_OUR_OWN: Final = "otel_fastpath"


def of_requests(counts: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """Those of `Receiver.counts` that say that something is instrumented, not only that OpenTelemetry is there."""
    return Counter(
        {
            (signal, scope): number
            for (signal, scope), number in counts.items()
            if signal == "traces" or not (scope == _OUR_OWN or scope.startswith(OF_THE_PROCESS))
        }
    )


class Receiver:
    """Receives OTLP while it is used in a `with` statement. Each run has a port of its own.

    Args:
        is_kept: Whether what is received is kept.
    """

    def __init__(self, *, is_kept: bool = True) -> None:
        self._is_kept = is_kept
        self._bodies: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
        self._servers: dict[str, _PortServer] = {}

    def __enter__(self) -> Receiver:  # noqa: PYI034  # Self is not in Python 3.10
        """Ports are opened when they are asked for."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the ports."""
        for server in self._servers.values():
            server.close()

    def endpoint(self, run: str) -> str:
        """The value of OTEL_EXPORTER_OTLP_ENDPOINT for a run."""
        if run not in self._servers:
            self._servers[run] = _PortServer(lambda signal, body: self._keep(run, signal, body))
        return f"http://{_HOST}:{self._servers[run].server_address[1]}"

    def _keep(self, run: str, signal: str, body: bytes) -> None:
        if self._is_kept:
            self._bodies[run, signal].append(body)

    def bodies(self, run: str, signal: str) -> list[bytes]:
        """The export requests that a run has sent so far, decompressed, in their order.

        Args:
            run: The name of the run.
            signal: One of `SIGNALS`.
        """
        return list(self._bodies.get((run, signal), ()))

    def counts(self, run: str) -> Counter[tuple[str, str]]:
        """How many spans, metrics and log records a run has sent so far, by signal and scope."""
        found: Counter[tuple[str, str]] = Counter()
        for signal in SIGNALS:
            for body in self.bodies(run, signal):
                for scope, number in _scopes(body):
                    found[signal, scope] += number
        return found

    def forget(self) -> None:
        """Drop what was received so far."""
        self._bodies.clear()


class _PortServer(http.server.ThreadingHTTPServer):
    """One port."""

    daemon_threads = True

    def __init__(self, keep: Callable[[str, bytes], None]) -> None:
        super().__init__((_HOST, 0), type("Handler", (_Handler,), {"keep": staticmethod(keep)}))
        self._keep = keep
        self._grpc: tuple[Any, int] | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection over HTTP, or hand it on to gRPC's server."""
        request.settimeout(_TIMEOUT)
        if request.recv(len(_HTTP_2), socket.MSG_PEEK) == _HTTP_2:
            _pass_on(request, self._grpc_port())
        else:
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, and gRPC that is not installed here: nothing is received."""

    def close(self) -> None:
        """Close the port."""
        self.shutdown()
        self.server_close()
        if self._grpc is not None:
            self._grpc[0].stop(None)

    def _grpc_port(self) -> int:
        with self._lock:
            if self._grpc is None:
                self._grpc = _grpc_server(self._keep)
            return self._grpc[1]


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one connection. OTLP's answer to an export request is an empty message."""

    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT
    keep: Callable[[str, bytes], None]

    def do_POST(self) -> None:
        """Keep the body of an export request."""
        signal = self.path.rpartition("/v1/")[2]
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if signal not in SIGNALS:
            self._answer(404)
            return
        try:
            self.keep(signal, _DECODERS[self.headers.get("content-encoding", "identity")](body))
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


def _grpc_server(keep: Callable[[str, bytes], None]) -> tuple[Any, int]:
    import grpc  # noqa: PLC0415  # only if it is sent to

    class Handler(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, call: Any) -> Any:
            signal = _METHODS.get(call.method)
            if signal is None:
                return None

            def export(body: bytes, _context: Any) -> bytes:
                keep(signal, body)
                return b""

            return grpc.unary_unary_rpc_method_handler(export)

    limits = [("grpc.max_receive_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(2), handlers=(Handler(),), options=limits)
    port = server.add_insecure_port(f"{_HOST}:0")
    server.start()
    return server, port


def _pass_on(client: socket.socket, port: int) -> None:
    """Pass on what a client and the server at a port send to each other until one of them ends."""
    client.settimeout(None)
    with socket.create_connection((_HOST, port)) as server:
        back = threading.Thread(target=_copy, args=(server, client), daemon=True)
        back.start()
        _copy(client, server)
        back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_LARGEST):
            sink.sendall(data)
    except OSError:
        pass  # one of them is gone
    finally:
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _scopes(body: bytes) -> Iterator[tuple[str, int]]:
    """The name of each scope of an export request and the number of its items; the same fields in all three signals."""
    for resource in _fields(body, 1):
        for scope in _fields(resource, 2):
            names = [name for about in _fields(scope, 1) for name in _fields(about, 1)]
            yield b"".join(names).decode(errors="replace"), sum(1 for _ in _fields(scope, 2))


def _fields(message: bytes, wanted: int) -> Iterator[bytes]:
    """The values of a field of strings or messages in protobuf's encoding."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            _, at = _varint(message, at)
        elif kind == _BYTES:
            length, at = _varint(message, at)
            if tag >> 3 == wanted:
                yield message[at : at + length]
            at += length
        else:
            at += 8 if kind == _FIXED_64 else 4


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004  # the last one
            break
    return value, at
