"""The few headers of a request that its telemetry needs, read in one pass over all of them. Compiled as `headers_c`.

Where URLs are excluded, the `Host` header is read before: most requests of a health check need nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import propagate
from opentelemetry.instrumentation import asgi

from otel_fastpath.trace.propagation.global_propagator import w3c_reader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.context.context import Context

HOST = "host"
USER_AGENT = "user-agent"
_HOST = HOST.encode()
_CONTENT_LENGTH = b"content-length"
_WANTED = {name.encode(): name for name in (HOST, USER_AGENT, "traceparent", "tracestate", "baggage")}
# Is in most requests, and as long as one of them.
_WANTED[b"connection"] = ""


def read(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """The values of the wanted headers that are there, by lower-case name."""
    found: dict[str, list[str]] = {}
    for key, value in headers:
        # The lengths of the names in `_WANTED`.
        if len(key) not in {4, 7, 10, 11}:
            continue
        # The specification of ASGI asks servers for lower-case names.
        name = _WANTED.get(key)
        if name is None:
            name = _WANTED.get(key.lower())
        if name:
            text = decode_header(value)
            if name in found:
                found[name].append(text)
            else:
                found[name] = [text]
    return found


def decode_header(value: bytes) -> str:
    """A header's value as stock decodes it; as Latin-1 where stock raises an error."""
    raw = value if type(value) is bytes else bytes(memoryview(value))
    try:
        return raw.decode("utf-8")
    except ValueError:
        try:
            return raw.decode("unicode_escape")
        except ValueError:
            return raw.decode("latin-1")


def first_host(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """The first `host` header, if there is one."""
    value = _first(headers, _HOST)
    return None if value is None else decode_header(value)


def content_length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The number in the first `content-length` header, if there is one."""
    value = _first(headers, _CONTENT_LENGTH)
    if value is None:
        return None
    found = number(value)
    return number(decode_header(value)) if found is None else found


def _first(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """The value of the first header with this lower-case name; None: there is none."""
    length = len(name)
    for key, value in headers:
        if len(key) == length and (key == name or key.lower() == name):
            return value
    return None


def number(value: str | bytes) -> int | None:
    """The number that a header states, or None if it is not one."""
    try:
        return int(value)
    except ValueError:
        return None


def remote_context(scope: Any, found: dict[str, list[str]]) -> Context | None:
    """The context that the global propagator extracts from a request with these headers; None: an empty one."""
    if w3c_reader() is not None:
        if "traceparent" in found or "tracestate" in found or "baggage" in found:
            return propagate.extract(found)
        return None
    return propagate.extract(scope, getter=asgi.asgi_getter)
