"""The header of Jaeger (https://www.jaegertracing.io/docs/1.19/client-libraries/). Compiled as `jaeger_c`.

Baggage, which has a header of its own for each entry, is left to stock's propagator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.context.context import Context
from opentelemetry.propagators.jaeger import JaegerPropagator
from opentelemetry.propagators.textmap import default_getter, default_setter
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.propagation import _SPAN_KEY

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item, item, value_of
from otel_fastpath.compiled.traceparent import read_hexadecimal, write_hexadecimal
from otel_fastpath.others.propagators.stock_jaeger import EXTRACTING, INJECTING
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.context.context_functions import known_context
from otel_fastpath.trace.propagation.carriers import put
from otel_fastpath.trace.propagation.known_headers import with_known_headers
from otel_fastpath.trace.propagation.trace_context import valid_context, with_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter

_EXTRACT = "JaegerPropagator.extract"
_INJECT = "JaegerPropagator.inject"
_TRACE_LENGTH: Final = 32
_SPAN_LENGTH: Final = 16
_FIELDS: Final = 4
_NO_PARENT = "0" * 16
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the remote parent read from a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        headers = names = made = None
        try:
            # A subclass may read baggage differently.
            if (
                type(self) is JaegerPropagator
                and getter is not None
                and (_extracting.hold() or EXTRACTING.holds_again(_extracting))
                and (context is None or type(context) is Context)
            ):
                if getter is default_getter and type(carrier) is dict:
                    header = get_item(carrier, self.TRACE_ID_KEY)
                    if header is None:
                        return Context() if context is None else context
                    if not _has_baggage(self, list(carrier)):
                        made = _of(header, context)
                else:
                    headers = getter.get(carrier, self.TRACE_ID_KEY)
                    if not headers:
                        return Context() if context is None else context
                    names = getter.keys(carrier)
                    if type(headers) is list and type(names) is list and not _has_baggage(self, names):
                        made = _of(headers[0], context)
                if made is not None:
                    return made
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        if headers is not None:
            getter = with_known_headers(_EXTRACT, getter, {self.TRACE_ID_KEY: headers}, names)
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes the header of the current span."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        header = _written(self, context)
        if header is None:
            original(self, carrier, context, setter)
        elif header:
            put(carrier, self.TRACE_ID_KEY, header, setter)

    return inject


def _has_baggage(propagator: Any, names: Any) -> bool:
    """Whether there is perhaps a header of baggage among these."""
    prefix = propagator.BAGGAGE_PREFIX
    if "_extract_baggage" in propagator.__dict__ or type(prefix) is not str:
        return True
    # With the types that the compiled core knows.
    start = prefix
    for name in names:
        if type(name) is not str:
            return True
        text = name
        if text.startswith(start):
            return True
    return False


def _of(header: Any, context: Context | None) -> Context | None:
    """The context with what this header says; None: stock decides."""
    if type(header) is not str:
        return None
    text = header
    fields = text.split(":")
    if len(fields) != _FIELDS:
        return Context() if context is None else context
    if len(fields[1]) > _SPAN_LENGTH:
        return None
    # Stock accepts more than digits, such as a sign.
    trace_id, span_id = read_hexadecimal(fields[0]), read_hexadecimal(fields[1])
    flags = read_hexadecimal(fields[3])
    if trace_id is None or span_id is None or flags is None:
        return None
    if not trace_id or not span_id:
        return Context() if context is None else context
    return with_remote(context, trace_id, span_id, flags & 1)


def _written(propagator: Any, context: Context | None) -> str | None:
    """What is written of a context, perhaps nothing; None: stock's propagator decides."""
    try:
        where = known_context(None) if context is None else context
        if type(where) is not Context or not (_injecting.hold() or INJECTING.holds_again(_injecting)):
            return None
        span: Any = value_of(where, _SPAN_KEY)
        if span is None:
            return ""
        own: Any = valid_context(span)
        if own is None or value_of(where, _BAGGAGE_KEY):  # type: ignore[arg-type]  # of a dict's class
            return None
        is_recording = type(span) is not NonRecordingSpan and span.is_recording()
        parent: Any = getattr(span, "parent", None) if is_recording else None
        if parent is not None and type(parent) is not SpanContext:
            return None
        flags = item(own, 3)
        if type(flags) is not TraceFlags:
            return None
        if flags & 1:
            flags = flags | propagator.DEBUG_FLAG
        trace_id, span_id = (
            write_hexadecimal(item(own, 0), _TRACE_LENGTH),
            write_hexadecimal(item(own, 1), _SPAN_LENGTH),
        )
        parent_id = _NO_PARENT if parent is None else write_hexadecimal(item(parent, 1), _SPAN_LENGTH)  # type: ignore[arg-type]  # an id
        return f"{trace_id}:{span_id}:{parent_id}:{write_hexadecimal(flags, 2)}"
    except Exception as error:
        faults.absorb(_INJECT, error)
        return None
