"""What code outside does to stock's private parts, by name."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags, TraceState

from sidebyside.seeing import exported_span, seen

if TYPE_CHECKING:
    from collections.abc import Callable

_REMOTE = SpanContext(0xAB << 64 | 7, 0x12, is_remote=True, trace_flags=TraceFlags(1))
_STATE = TraceState([("poked", "yes")])

POKES: dict[str, Callable[[Any], Any]] = {}
# An ended span may be in the queue itself, where stock queues a copy of these fields: test_differences.py.
NOT_ONCE_ENDED = {"name", "status", "context", "times", "resume", "attributes", "plain attributes", "events"}


def _poke(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    POKES[function.__name__[1:].replace("_", " ")] = function
    return function


@_poke
def _attribute(span: Any) -> None:
    span._attributes["poked"] = [1, "two"]


@_poke
def _delete_attribute(span: Any) -> None:
    del span._attributes["a"]


@_poke
def _store(span: Any) -> None:
    span._attributes._dict["stored"] = ["not", "cleaned"]


@_poke
def _event(span: Any) -> None:
    span._add_event(Event("poked", {"plain": "dict"}, timestamp=5))
    span._events.append(Event("appended", timestamp=6))


@_poke
def _link(span: Any) -> None:
    span._add_link(Link(_REMOTE))
    span._links.append(Link(_REMOTE, {"poked": True}))


@_poke
def _name(span: Any) -> None:
    span._name = "poked"


@_poke
def _status(span: Any) -> None:
    span._status = Status(StatusCode.OK)


@_poke
def _context(span: Any) -> None:
    # How some give their spans ids of their own.
    span._context = SpanContext(0xAA << 64 | 1, 0xBB, is_remote=False, trace_flags=TraceFlags(1), trace_state=_STATE)


@_poke
def _times(span: Any) -> None:
    span._start_time = 1
    if span._end_time is not None:
        span._end_time = 2


@_poke
def _resume(span: Any) -> None:
    span._end_time = None


@_poke
def _attributes(span: Any) -> None:
    span._attributes = BoundedAttributes(2, {"replaced": 1}, immutable=False, max_value_len=3)


@_poke
def _plain_attributes(span: Any) -> None:
    span._attributes = {"replaced": 1}


@_poke
def _events(span: Any) -> None:
    span._events = []


@_poke
def _lock(span: Any) -> Any:
    with span._lock:
        return span.attributes, span.name, span._lock is span._lock


@_poke
def _own_field(span: Any) -> Any:
    span.own_field = 5
    return span.own_field


@_poke
def _copy(span: Any) -> Any:
    made = copy.copy(span)
    made._name = "copied"
    return exported_span(made)


@_poke
def _deepcopy(span: Any) -> Any:
    # What an exporter may do. A live span of stock's cannot be copied: it has a lock; ours can.
    return exported_span(copy.deepcopy(span._readable_span()))


@_poke
def _to_json(span: Any) -> Any:
    return span.to_json(), span.to_json(indent=None)


@_poke
def _repr(span: Any) -> str:
    return repr(span)


@_poke
def _readable(span: Any) -> Any:
    readable = span._readable_span()
    return exported_span(readable), type(readable).__name__, readable._attributes is span._attributes


@_poke
def _isinstance(span: Any) -> Any:
    return seen(span)
