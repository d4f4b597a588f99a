"""Attributes, status and name of a span. Plain Python; compiled as `span_c` with the types of its `.pxd`.

Each `bind_*` function makes the replacement for one method of `opentelemetry.sdk.trace.Span`. The replacement handles
the common cases of the spans that the fast path started. In any other case (a value that must be cleaned, a limit that
is reached, a lock or list that other code has asked for, a span that stock started) it calls the original; the
compatibility properties of `span_classes` give that the private attributes that it works on. The classes of the fast
path's spans have no such methods themselves: a method that other code puts in place of ours is called.

The original also runs after an error in this code, but not if the operation has already taken effect: the code after
that point has a `try` of its own.

A check and the store that depends on it stand in a function with a `critical_section`, without a call in between. With
the interpreter lock that is enough, and the section does nothing: CPython switches threads only at calls and backward
jumps, and `len` is not a call once the code is warm. On 3.10, which also switches at `len` and at any jump that is
taken, the section of the pure core is a lock.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import Span as _StockSpan
from opentelemetry.sdk.trace import _Span as _FinalSpan
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import has_keys
from otel_fastpath.compiled.sharing import critical_section
from otel_fastpath.lazy import Lazy
from otel_fastpath.patching import faults
from otel_fastpath.patching.interpreter import FREE_THREADED
from otel_fastpath.patching.swapping.switches import Switch, make_switchable
from otel_fastpath.trace.propagation.stock_propagators import READ_OF_CONTEXTS
from otel_fastpath.trace.spans.attributes import LEAVE, clean_mapping, frozen, made
from otel_fastpath.trace.spans.identity import Identity
from otel_fastpath.trace.spans.recorded import SpanState

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.sdk.trace import Span
    from opentelemetry.trace import SpanContext
    from opentelemetry.util import types


_OK = StatusCode.OK
_UNSET_CODE = StatusCode.UNSET


def bind_set_attribute(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.set_attribute`."""
    switch = Switch()

    def set_attribute(self: Span, key: str, value: types.AttributeValue) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert:
                if _try_set(self, key, value):
                    return
                if isinstance(value, Lazy) and self._end_time is None:
                    value = value.value()
                make_room(self)
        except Exception as error:
            faults.absorb("Span.set_attribute", error)
        original(self, key, value)

    def by_set_attributes(self: Span, key: str, value: types.AttributeValue) -> None:
        is_left = False
        try:
            is_left = isinstance(self, SpanState) and not _sets_several_itself(self)
        except Exception as error:
            faults.absorb("Span.set_attribute", error)
        (original if is_left else set_attribute)(self, key, value)

    # Before OpenTelemetry 1.43, `set_attribute` calls the span's `set_attributes`, which other code may have replaced.
    code = getattr(inspect.unwrap(original), "__code__", None)
    is_by_several = code is not None and "set_attributes" in code.co_names
    return make_switchable(original, by_set_attributes if is_by_several else set_attribute, switch)


_several = Facts([(_FinalSpan, "set_attributes", None)])


def _sets_several_itself(span: SpanState) -> bool:
    """Whether the span's `set_attributes` is the replacement that is made below."""
    return _several.hold() and "set_attributes" not in span.__dict__


def _try_set(span: SpanState, key: str, value: object) -> bool:
    """Set one attribute; False if stock's method must do it."""
    if type(key) is not str or not key:
        return False
    plan = span.plan
    if type(value) in plan.as_is:
        return _put(span, key, value)
    # A value that stock's method will clean is not cleaned here: cleaning twice would warn twice.
    kept = frozen(key, value, plan.max_value, plan.clean) if _takes(span, key) else LEAVE
    return kept is not LEAVE and _put(span, key, kept)


@critical_section
def _put(span: SpanState, key: str, kept: object) -> bool:
    """Set an attribute that is already cleaned; False if stock's method must do it."""
    if span.bounded_attributes is not None or span._end_time is not None:
        return False
    store = span.attribute_store
    size = len(store)
    if size >= span.plan.max_attributes and key not in store:
        return False
    store[key] = kept
    if size > 1 and len(store) == size:
        # An overwritten attribute moves to the end.
        del store[key]
        store[key] = kept
    return True


@critical_section
def _takes(span: SpanState, key: str) -> bool:
    """Whether `_put` would set an attribute with this key now."""
    if span.bounded_attributes is not None or span._end_time is not None:
        return False
    store = span.attribute_store
    size = len(store)
    return size < span.plan.max_attributes or key in store


@critical_section
def _room(span: SpanState) -> int:
    """The number of attributes that can still be set without stock's method; -1 if none can be set at all."""
    if span.bounded_attributes is not None or span._end_time is not None:
        return -1
    return span.plan.max_attributes - len(span.attribute_store)


def make_room(span: SpanState) -> None:
    """Create stock's attribute container now: lazy values must not be made while the span's lock is held."""
    if _room(span) >= 0:
        span._bound_attributes(None)  # type: ignore[attr-defined]  # of the class that `span_classes` makes


def bind_set_attributes(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.set_attributes`."""
    switch = Switch()

    def set_attributes(self: Span, attributes: types.Attributes) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert:
                if _try_set_all(self, attributes):
                    return
                attributes = made(attributes, self._end_time is None)
                make_room(self)
        except Exception as error:
            faults.absorb("Span.set_attributes", error)
        original(self, attributes)

    replacement = make_switchable(original, set_attributes, switch)
    _several.renew([(_FinalSpan, "set_attributes", replacement)])
    return replacement


def _try_set_all(span: SpanState, attributes: types.Attributes) -> bool:
    """Set several attributes; False if stock's method must do it."""
    room = _room(span)
    if room < 0 or type(attributes) is not dict:
        return False
    plan = span.plan
    kept = clean_mapping(attributes, plan.max_value, plan.clean, room)
    return kept is not LEAVE and _put_all(span, kept)


@critical_section
def _put_all(span: SpanState, kept: dict[str, object]) -> bool:
    """Set attributes that are already cleaned; False if there may be no room for all of them."""
    store = span.attribute_store
    if len(store) > span.plan.max_attributes - len(kept) or span.bounded_attributes is not None:
        return False
    # If all stored attributes are overwritten, the order is that of the new ones. Without the interpreter lock, another
    # thread may be about to take its own reference to the store.
    if not FREE_THREADED and has_keys(kept, store) and span.attribute_store is store and span._end_time is None:
        span.attribute_store = kept
        return True
    for key, value in kept.items():
        store = span.attribute_store
        size = len(store)
        if span._end_time is None:
            store[key] = value
            if len(store) == size:
                # An overwritten attribute moves to the end.
                del store[key]
                store[key] = value
    if len(span.attribute_store) > span.plan.max_attributes:
        # Other threads have added attributes in the meantime.
        span.drop_surplus()  # type: ignore[attr-defined]  # of the class that `span_classes` makes
    return True


def bind_set_status(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.set_status`."""
    switch = Switch()

    def set_status(self: Span, status: Status | StatusCode, description: str | None = None) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert and _try_set_status(self, status, description):
                return
        except Exception as error:
            faults.absorb("Span.set_status", error)
        original(self, status, description)

    return make_switchable(original, set_status, switch)


def _try_set_status(span: SpanState, status: Status | StatusCode, description: str | None) -> bool:
    """Set the status, or ignore it as stock does; False if stock's method must do it."""
    code = status
    if type(status) is Status:
        if description is not None:
            return False
        code = status._status_code
    elif type(status) is not StatusCode:
        return False
    # Making a `Status` may log a warning, so it is made only where stock's method makes one.
    changes = _changes(span, code is _UNSET_CODE)
    if changes > 0:
        return _put_status(span, Status(status, description) if status is code else status)  # type: ignore[arg-type]  # `code` is a `StatusCode`
    return changes == 0


@critical_section
def _changes(span: SpanState, is_unset: bool) -> int:
    """What setting a status does: 1 if it changes the span's, 0 if it is ignored, -1 if the span has ended."""
    if span._end_time is not None:
        return -1
    return 0 if is_unset or span._status._status_code is _OK else 1


@critical_section
def _put_status(span: SpanState, status: Status) -> bool:
    """Set the status; False if the span has ended."""
    if span._end_time is not None:
        return False
    # Another thread may have set the one that is final.
    if span._status._status_code is not _OK:
        span._status = status
    return True


_context_facts = Facts([(_StockSpan, "get_span_context", None)])


def is_context_known() -> bool:
    """Whether `get_span_context` of the fast path's spans returns their `Identity.span_context`."""
    return _context_facts.hold()


def bind_get_span_context(original: Callable[..., SpanContext]) -> Callable[..., object]:
    """Make the replacement for `Span.get_span_context`."""
    switch = Switch()

    def get_span_context(self: Span) -> object:
        try:
            if isinstance(self, Identity) and not switch.inert:
                return self.span_context()
        except Exception as error:
            faults.absorb("Span.get_span_context", error)
        return original(self)

    replacement = make_switchable(original, get_span_context, switch)
    _context_facts.renew([(_StockSpan, "get_span_context", replacement), *READ_OF_CONTEXTS])
    return replacement


def bind_update_name(original: Callable[..., None]) -> Callable[..., object]:
    """Make the replacement for `Span.update_name`."""
    switch = Switch()

    def update_name(self: Span, name: str) -> None:
        try:
            if isinstance(self, SpanState) and not switch.inert and _try_rename(self, name):
                return
        except Exception as error:
            faults.absorb("Span.update_name", error)
        original(self, name)

    return make_switchable(original, update_name, switch)


@critical_section
def _try_rename(span: SpanState, name: str) -> bool:
    """Set the name; False if stock's method must report that the span has ended."""
    if span._end_time is not None:
        return False
    span._name = name
    return True
