"""The life of a span: attributes, status, end. Plain Python; compiled as `span_c` with the types of its `.pxd`.

The common cases are handled here. In any other case (a value that must be cleaned, a limit that is reached, a lock or
list that other code has asked for) the span calls upstream's own method for that operation: the `_stock_*` functions
are those of `opentelemetry.sdk.trace.Span`, and the compatibility properties of `span_classes.FastSpan` give them the
private attributes that they work on.

Upstream's method also runs after an error in this code, but not if the operation has already taken effect: the code
after that point has a `try` of its own.

There are no locks. There is no call between a check and the store that depends on it, so no other thread runs in
between: CPython switches threads only at calls and backward jumps, and from 3.11 on `len` is not a call once the code
is warm. 3.10 also switches at `len` and at any jump that is taken; there, the code checks afterwards whether two
threads took the last place.
"""

from __future__ import annotations

from sys import version_info
from typing import TYPE_CHECKING

from opentelemetry.sdk import trace as _sdk_trace
from opentelemetry.sdk.trace import Span as _StockSpan
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.compiled.helpers import read_clock
from otel_fastpath.lazy import Lazy
from otel_fastpath.patching import faults
from otel_fastpath.trace.attributes import LEAVE, clean_mapping, frozen, made
from otel_fastpath.trace.events import EventsState
from otel_fastpath.trace.identity import REPLACED
from otel_fastpath.trace.plan import enqueue

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from opentelemetry.attributes import BoundedAttributes
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util import BoundedList
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Link, SpanContext, SpanKind
    from opentelemetry.util import types


_LEN_IS_A_CALL = version_info < (3, 11)
# How far `end` has come. Each is set before the step that may fail.
_BEGUN = -1
_ENDED = 0
_MEASURED = 1
_ANNOUNCED = 2
_QUEUEING = 3
_SENT = 4
_sdk_globals = vars(_sdk_trace)
_OK = StatusCode.OK
_UNSET_CODE = StatusCode.UNSET
_stock_set_attribute: Callable[..., None] = _StockSpan.set_attribute
_stock_set_attributes: Callable[..., None] = _StockSpan.set_attributes
_stock_update_name: Callable[..., None] = _StockSpan.update_name
_stock_set_status: Callable[..., None] = _StockSpan.set_status
_stock_end: Callable[..., None] = _StockSpan.end


class SpanState(EventsState):
    """The recorded part of a span. Combined with `opentelemetry.sdk.trace._Span` in `span_classes`.

    A `bounded_*` attribute is None until upstream's own container is needed, which then holds the data of the store.
    `lock` is None until upstream's own code is called, which holds it from checking the end time until its change.
    """

    __slots__ = (
        "_instrumentation_scope",
        "_kind",
        "_name",
        "_parent",
        "_record_end_metrics",
        "_record_exception",
        "_resource",
        "_set_status_on_exception",
        "_start_time",
        "_status",
        "attribute_store",
        "bounded_attributes",
        "bounded_links",
        "lock",
    )
    _instrumentation_scope: InstrumentationScope
    _kind: SpanKind
    _name: str
    _parent: SpanContext | None
    _record_end_metrics: Callable[[], None] | None
    _record_exception: bool
    _resource: Resource
    _set_status_on_exception: bool
    _start_time: int | None
    _status: Status
    attribute_store: dict[str, object]
    bounded_attributes: BoundedAttributes | None
    bounded_links: BoundedList[Link] | None
    lock: AbstractContextManager[object] | None

    def is_recording(self) -> bool:
        """Whether the span has not ended."""
        return self._end_time is None

    def set_attribute(self, key: str, value: object) -> None:
        """Set one attribute, as `opentelemetry.sdk.trace.Span.set_attribute` does."""
        try:
            if type(key) is str and key and self.bounded_attributes is None:
                plan = self.plan
                kept = value if type(value) in plan.as_is else self._cleaned(key, value)
                if kept is not LEAVE:
                    size = len(self.attribute_store)
                    store = self.attribute_store
                    if size > 1 and key in store:
                        if self._end_time is None:
                            # An overwritten attribute moves to the end.
                            del store[key]
                            store[key] = kept
                            return
                    elif size < plan.max_attributes and self._end_time is None:
                        store[key] = kept
                        if _LEN_IS_A_CALL and len(store) > plan.max_attributes:
                            self.drop_surplus()  # type: ignore[attr-defined]  # of the class that `span_classes` makes
                        return
        except Exception as error:
            faults.absorb("Span.set_attribute", error)
        try:
            if isinstance(value, Lazy) and self._end_time is None:
                value = value.value()
            self._make_room()
        except Exception as error:
            faults.absorb("Span.set_attribute", error)
        _stock_set_attribute(self, key, value)

    def _make_room(self) -> None:
        """Create upstream's attribute container now: lazy values must not be made while the span's lock is held."""
        if self.bounded_attributes is None and self._end_time is None:
            self._bound_attributes(None)  # type: ignore[attr-defined]  # of the class that `span_classes` makes

    def _cleaned(self, key: str, value: object) -> object:
        """The cleaned value, or `LEAVE` for one that upstream's method will clean: cleaning twice would warn twice."""
        plan = self.plan
        store = self.attribute_store
        if self._end_time is None and (len(store) < plan.max_attributes or key in store):
            return frozen(key, value, plan.max_value, plan.clean)
        return LEAVE

    def set_attributes(self, attributes: types.Attributes) -> None:
        """Set several attributes, as `opentelemetry.sdk.trace.Span.set_attributes` does."""
        try:
            if self.bounded_attributes is None and self._end_time is None and type(attributes) is dict:
                plan = self.plan
                kept = clean_mapping(
                    attributes, plan.max_value, plan.clean, plan.max_attributes - len(self.attribute_store)
                )
                if kept is not LEAVE and self._put_all(kept):
                    return
        except Exception as error:
            faults.absorb("Span.set_attributes", error)
        try:
            attributes = made(attributes, self._end_time is None)
            self._make_room()
        except Exception as error:
            faults.absorb("Span.set_attributes", error)
        _stock_set_attributes(self, attributes)

    def _put_all(self, kept: dict[str, object]) -> bool:
        """Set attributes that are already cleaned; False if there may be no room for all of them."""
        most = self.plan.max_attributes
        if len(self.attribute_store) > most - len(kept) or self.bounded_attributes is not None:
            return False
        # All stored attributes are overwritten, so the order is that of the new ones.
        if self.attribute_store.keys() <= kept.keys() and self._end_time is None:
            self.attribute_store = kept
            return True
        for key, value in kept.items():
            store = self.attribute_store
            if self._end_time is None:
                if key in store:
                    # An overwritten attribute moves to the end.
                    del store[key]
                store[key] = value
        if len(self.attribute_store) > most:
            # Other threads have added attributes in the meantime.
            self.drop_surplus()  # type: ignore[attr-defined]  # of the class that `span_classes` makes
        return True

    def update_name(self, name: str) -> None:
        """Rename the span, as `opentelemetry.sdk.trace.Span.update_name` does."""
        if self._end_time is None:
            self._name = name
        else:
            _stock_update_name(self, name)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """Set the status, as `opentelemetry.sdk.trace.Span.set_status` does."""
        try:
            if self._end_time is None:
                if type(status) is StatusCode:
                    if status is _UNSET_CODE or self._status._status_code is _OK:
                        return
                    made_status = Status(status, description)
                    if self._end_time is None:
                        self._status = made_status
                    return
                if description is None and type(status) is Status:
                    if (
                        status._status_code is not _UNSET_CODE
                        and self._status._status_code is not _OK
                        and self._end_time is None
                    ):
                        self._status = status
                    return
        except Exception as error:
            faults.absorb("Span.set_status", error)
        _stock_set_status(self, status, description)

    def end(self, end_time: int | None = None) -> None:
        """End the span and hand it to the processors, as `opentelemetry.sdk.trace.Span.end` does.

        If all processors are upstream's batch processors, the span itself is queued: an ended span is read-only.
        """
        done = _BEGUN
        batch = None
        now = end_time
        try:
            if now is None:
                now = read_clock(_sdk_globals)
            if (
                self.bounded_attributes is None
                and self.lock is None
                and self._start_time is not None
                and self._end_time is None
            ):
                self._end_time = now
                done = _ENDED
            else:
                self._make_room()
        except Exception as error:
            faults.absorb("Span.end", error)
        if done == _BEGUN:
            _stock_end(self, end_time)
            return
        try:
            metrics = self._record_end_metrics
            if metrics is not None:
                done = _MEASURED
                metrics()
            plan = self.plan
            processor = plan.processor
            current = plan.processor_state["_span_processors"]
            flags = self.trace_flags
            if not plan.only_batches or current is not plan.processors or flags >= REPLACED:
                done = _ANNOUNCED
                processor._on_ending(self)  # type: ignore[arg-type]  # a `_Span` by its class in `span_classes`
                readable = self._readable_span()  # type: ignore[attr-defined]  # of the class that `span_classes` makes
                done = _SENT
                processor.on_end(readable)
            elif flags & 1:
                done = _QUEUEING
                batch = plan.first_batch
                while batch is not None:
                    enqueue(batch, self)  # type: ignore[arg-type]  # likewise
                    batch = batch.after
            else:
                done = _SENT
        except Exception as error:
            faults.absorb("Span.end", error)
            self._end_further(batch, done == _ENDED, done <= _MEASURED, done <= _ANNOUNCED)  # type: ignore[attr-defined]  # of the class that `span_classes` makes
