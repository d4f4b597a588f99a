"""The few headers of a request that its telemetry needs, read in one pass over all of them. Compiled as `headers_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import propagate
from opentelemetry.instrumentation import asgi

from otel_fastpath.libraries.http.parents import w3c_propagator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.context.context import Context

HOST = "host"
USER_AGENT = "user-agent"
# Most headers have names of other lengths, and need not be looked up.
_SHORTEST, _LONGEST = 4, 11
_LENGTH_OF_CONTENT_LENGTH = 14
_WANTED = {name.encode(): name for name in (HOST, USER_AGENT, "traceparent", "tracestate", "baggage")}


def read(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    """The values of the wanted headers that are there, by lower-case name."""
    found: dict[str, list[str]] = {}
    for key, value in headers:
        length = len(key)
        if length > _LONGEST or length < _SHORTEST:
            continue
        name = _WANTED.get(key.lower())
        if name is not None:
            text = decoded(value)
            if name in found:
                found[name].append(text)
            else:
                found[name] = [text]
    return found


def decoded(value: bytes) -> str:
    """A header's value as upstream decodes it; as Latin-1 where upstream raises an error."""
    try:
        return value.decode("utf-8")
    except ValueError:
        try:
            return value.decode("unicode_escape")
        except ValueError:
            return value.decode("latin-1")


def content_length(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The number in the first `content-length` header, if there is one."""
    for key, value in headers:
        if len(key) == _LENGTH_OF_CONTENT_LENGTH and key.lower() == b"content-length":
            return number(decoded(value))
    return None


def number(text: str) -> int | None:
    """The number that a header states, or None if it is not one."""
    try:
        return int(text)
    except ValueError:
        return None


def remote_context(scope: Any, found: dict[str, list[str]]) -> Context | None:
    """The context that the global propagator extracts from a request with these headers; None: an empty one."""
    if w3c_propagator() is not None:
        if "traceparent" in found or "tracestate" in found or "baggage" in found:
            return propagate.extract(found)
        return None
    return propagate.extract(scope, getter=asgi.asgi_getter)
