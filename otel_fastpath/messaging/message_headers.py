"""The headers of messages, lists of pairs or dicts: what W3C's propagators write into them, and read. Plain Python.

Compiled as `message_headers_c`.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import propagate
from opentelemetry.baggage import _BAGGAGE_KEY

from otel_fastpath.patching import faults
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.context.current_context import with_span
from otel_fastpath.trace.propagation.composite import _read, _written
from otel_fastpath.trace.propagation.global_propagator import w3c_reader, w3c_writer

_PARENT = "traceparent"
_NAMES = frozenset({_PARENT, "tracestate", "baggage"})
# What other code may replace there is looked up at each call.
_globals = vars(propagate)


def write_header(headers: Any, span: Any, is_current: bool) -> bool:
    """Add what is written in the current context, with this span in it; False if stock must do it."""
    context = None if type(headers) is not list or w3c_writer() is None else known_context(None)
    if context is None:
        return False
    if not is_current:
        context = with_span(context, span)
    header = None if context.get(_BAGGAGE_KEY) else _written(context)
    if header is None:
        inject = _globals["inject"]
        found: dict[str, Any] = {}
        inject(found, context=context)
        headers.extend([(name, value.encode()) for name, value in found.items()])
    elif header:
        headers.append((_PARENT, header.encode()))
    return True


def remote_context(headers: Any) -> Any:
    """The context that is read; None if stock must do it."""
    kind = type(headers)
    if (kind is not list and kind is not tuple) or w3c_reader() is None:
        return None
    found: dict[str, Any] = {}
    for each in headers:
        if type(each) is not tuple or len(each) != 2 or type(each[0]) is not str:  # noqa: PLR2004  # a name and a value
            return None
        pair = each
        # Of several with one name, the first that has a value is read.
        if pair[0] not in _NAMES or pair[1] is None or pair[0] in found:
            continue
        if type(pair[1]) is not bytes:
            return None
        header = pair[1]
        if not header.isascii():
            return None
        found[pair[0]] = header.decode()
    return _context_of(found)


def _context_of(found: dict[str, Any]) -> Any:
    """The context that is read from texts."""
    context = _read(found, None) if not found or (len(found) == 1 and _PARENT in found) else None
    if context is None:
        extract = _globals["extract"]
        return extract(found)
    return context


def write_mapped(headers: Any) -> bool:
    """Add to a dict what is written in the current context; False if stock must do it."""
    context = None if type(headers) is not dict or w3c_writer() is None else known_context(None)
    if context is None or context.get(_BAGGAGE_KEY):
        return False
    header = _written(context)
    if header:
        headers[_PARENT] = header
    return header is not None


def mapped_context(headers: Any) -> Any:
    """The context that is read from a dict; None if stock must do it."""
    if type(headers) is not dict or w3c_reader() is None:
        return None
    found: dict[str, Any] = {}
    for name in _NAMES:
        value = headers.get(name)
        if type(value) is str:
            found[name] = value
        elif value is not None:
            return None
    return _context_of(found)


def inject_mapped(headers: Any, place: str) -> None:
    """Write into a dict what the propagators write in the current context."""
    is_written = False
    try:
        is_written = write_mapped(headers)
    except Exception as error:
        faults.absorb(place, error)
    if not is_written:
        inject = _globals["inject"]
        inject(headers)
