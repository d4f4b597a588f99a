"""What a span says of the scope of a request: server, query and remote parent. Compiled as `scopes_c`."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from fastapi.telemetry import _asgi
from opentelemetry import propagate
from opentelemetry.context import Context
from starlette.datastructures import Headers

from otel_fastpath.compiled.helpers import get_item
from otel_fastpath.http.bounded import LONGEST
from otel_fastpath.patching.cache import keep
from otel_fastpath.trace.propagation.global_propagator import w3c_reader

asgi: Any = _asgi
_PROPAGATED: Final = frozenset({b"traceparent", b"tracestate", b"baggage"})
_addresses: dict[Any, dict[str, Any]] = {}


def server_attributes(scope: dict[str, Any], authority: bytes | None) -> dict[str, Any]:
    """The address and port of the server, from the Host header or the socket."""
    server = scope.get("server")
    key = (authority, scope.get("scheme"), tuple(server) if server and authority is None else None)
    found = get_item(_addresses, key)
    if found is None:
        found = asgi._server_attributes(scope)
        if authority is None or len(authority) <= LONGEST:
            keep(_addresses, key, found)
    return found


def query_of(query: bytes) -> str:
    """The query, parsed and encoded anew, without the values of sensitive parameters."""
    secret = asgi._SENSITIVE_QUERY_PARAMETERS
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    return urlencode([(name, "REDACTED" if name in secret else value) for name, value in pairs])


def read(scope: dict[str, Any]) -> tuple[bytes | None, Context]:
    """The first Host header, and the context with the remote parent."""
    authority = None
    is_child = w3c_reader() is None
    for name, value in scope["headers"]:
        if name == b"host":
            if authority is None:
                authority = value
        elif name in _PROPAGATED:
            is_child = True
    if is_child:
        return authority, propagate.extract(Headers(scope=scope), getter=asgi._HEADERS_GETTER)
    return authority, Context()
