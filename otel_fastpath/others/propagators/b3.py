"""The headers of B3 (https://github.com/openzipkin/b3-propagation). Plain Python; compiled as `b3_c`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context.context import Context
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.textmap import default_getter, default_setter

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import item
from otel_fastpath.compiled.traceparent import read_hexadecimal, write_hexadecimal
from otel_fastpath.others.propagators.stock_b3 import EXTRACTING, INJECTING
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.propagation.carriers import first_value, known, put
from otel_fastpath.trace.propagation.known_headers import knowing
from otel_fastpath.trace.propagation.trace_context import context_to_write, with_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter
    from opentelemetry.trace import SpanContext

_EXTRACT = "B3MultiFormat.extract"
_INJECT = "B3MultiFormat.inject"
_TRACE_IDS = B3MultiFormat._trace_id_regex
_SPAN_IDS = B3MultiFormat._span_id_regex
_TRACE_LENGTH: Final = 32
_SPAN_LENGTH: Final = 16
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the remote parent read from a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        if not _can_read(self) or not (context is None or type(context) is Context):
            return original(self, carrier, context, getter)
        if getter is default_getter and type(carrier) is dict:
            made = _of_dict(self, carrier, context)
            return original(self, carrier, context, getter) if made is None else made
        single = first_value(carrier, self.SINGLE_HEADER_KEY, getter)
        values = {self.SINGLE_HEADER_KEY: known(single)}
        if single:
            made = _of_single(self, single, context) if type(single) is str else None
        else:
            trace_id = first_value(carrier, self.TRACE_ID_KEY, getter)
            span_id = first_value(carrier, self.SPAN_ID_KEY, getter)
            sampled = first_value(carrier, self.SAMPLED_KEY, getter)
            flags = first_value(carrier, self.FLAGS_KEY, getter)
            made = _of(self, trace_id, span_id, sampled or "0", flags, context)
            values[self.TRACE_ID_KEY] = known(trace_id)
            values[self.SPAN_ID_KEY] = known(span_id)
            values[self.SAMPLED_KEY] = known(sampled)
            values[self.FLAGS_KEY] = known(flags)
        if made is not None:
            return made
        return original(self, carrier, context, knowing(_EXTRACT, getter, values))

    return extract


def make_inject_multi(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes three headers."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        own: Any = _own(context)
        if own is None:
            original(self, carrier, context, setter)
        elif item(own, 5):
            trace_id = write_hexadecimal(item(own, 0), _TRACE_LENGTH)
            span_id = write_hexadecimal(item(own, 1), _SPAN_LENGTH)
            sampled = "1" if item(own, 3) & 1 else "0"
            if setter is default_setter and type(carrier) is dict:
                carrier[self.TRACE_ID_KEY] = trace_id
                carrier[self.SPAN_ID_KEY] = span_id
                carrier[self.SAMPLED_KEY] = sampled
            else:
                setter.set(carrier, self.TRACE_ID_KEY, trace_id)
                setter.set(carrier, self.SPAN_ID_KEY, span_id)
                setter.set(carrier, self.SAMPLED_KEY, sampled)

    return inject


def make_inject_single(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes one header."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        own: Any = _own(context)
        if own is None:
            original(self, carrier, context, setter)
        elif item(own, 5):
            trace_id = write_hexadecimal(item(own, 0), _TRACE_LENGTH)
            span_id = write_hexadecimal(item(own, 1), _SPAN_LENGTH)
            put(carrier, self.SINGLE_HEADER_KEY, f"{trace_id}-{span_id}-{'1' if item(own, 3) & 1 else '0'}", setter)

    return inject


def _can_read(propagator: Any) -> bool:
    """Whether stock's own functions and expressions would read the headers. Their names are the object's own."""
    try:
        return (
            propagator._trace_id_regex is _TRACE_IDS
            and propagator._span_id_regex is _SPAN_IDS
            and (_extracting.hold() or EXTRACTING.holds_again(_extracting))
        )
    except Exception as error:
        faults.absorb(_EXTRACT, error)
        return False


def _of_dict(propagator: Any, carrier: dict[Any, Any], context: Context | None) -> Context | None:
    """The context with what these headers say; None: stock decides."""
    try:
        single = carrier.get(propagator.SINGLE_HEADER_KEY)
        if single:
            return _of_single(propagator, single, context) if type(single) is str else None
        if single is not None and type(single) is not str:
            return None
        sampled = carrier.get(propagator.SAMPLED_KEY)
        flags = carrier.get(propagator.FLAGS_KEY)
        if flags is not None and type(flags) is not str:
            return None
        trace_id, span_id = carrier.get(propagator.TRACE_ID_KEY), carrier.get(propagator.SPAN_ID_KEY)
        if type(trace_id) is not str or type(span_id) is not str:
            # What is no text may have a first element.
            return _without(context) if trace_id is None and (span_id is None or type(span_id) is str) else None
        return _of(propagator, trace_id, span_id, "0" if sampled is None or sampled == "" else sampled, flags, context)
    except Exception as error:
        faults.absorb(_EXTRACT, error)
        return None


def _without(context: Context | None) -> Context:
    return Context() if context is None else context


def _of_single(propagator: Any, header: str, context: Context | None) -> Context | None:
    """The context with what the one header says; None: stock decides."""
    try:
        fields = header.split("-", 4)
        count = len(fields)
        if count in {2, 3, 4}:
            # The state may be missing: stock records such a span.
            return _of(propagator, fields[0], fields[1], "1" if count == 2 else fields[2], None, context)  # noqa: PLR2004  # see above
        return Context() if context is None else context
    except Exception as error:
        faults.absorb(_EXTRACT, error)
        return None


def _of(
    propagator: Any, trace_text: Any, span_text: Any, sampled: Any, flags: Any, context: Context | None
) -> Context | None:
    """The context with what these values say; None: stock decides."""
    try:
        if not trace_text or not span_text:
            return _without(context)
        if type(trace_text) is not str or type(span_text) is not str:
            return None
        # Others may be digits of other scripts, which stock accepts.
        if len(trace_text) not in {16, 32} or len(span_text) != _SPAN_LENGTH:
            return Context() if context is None else context
        trace_id, span_id = read_hexadecimal(trace_text), read_hexadecimal(span_text)
        if not trace_id or not span_id or type(sampled) is not str:
            return None
        is_sampled = sampled in propagator._SAMPLE_PROPAGATE_VALUES or flags == "1"
        return with_remote(context, trace_id, span_id, 1 if is_sampled else 0)
    except Exception as error:
        faults.absorb(_EXTRACT, error)
        return None


def _own(context: Context | None) -> SpanContext | None:
    """The SpanContext to write, an invalid one if there is none; None: stock decides."""
    try:
        if _injecting.hold() or INJECTING.holds_again(_injecting):
            return context_to_write(context)
    except Exception as error:
        faults.absorb(_INJECT, error)
    return None
