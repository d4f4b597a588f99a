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
from otel_fastpath.trace.propagation.carriers import put
from otel_fastpath.trace.propagation.known_headers import with_known_headers
from otel_fastpath.trace.propagation.trace_context import context_to_write, with_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter

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
        values: dict[str, Any] = {}
        try:
            if getter is not None and _can_read(self) and (context is None or type(context) is Context):
                if getter is default_getter and type(carrier) is dict:
                    made = _of_dict(self, carrier, context)
                else:
                    made = _of_carrier(self, carrier, context, getter, values)
                if made is not None:
                    return made
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        return original(self, carrier, context, with_known_headers(_EXTRACT, getter, values) if values else getter)

    return extract


def make_inject_multi(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes three headers."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        written = _written(context)
        if written is None:
            original(self, carrier, context, setter)
        elif written:
            trace_id, span_id, sampled = written
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
        written = _written(context)
        if written is None:
            original(self, carrier, context, setter)
        elif written:
            trace_id, span_id, sampled = written
            put(carrier, self.SINGLE_HEADER_KEY, f"{trace_id}-{span_id}-{sampled}", setter)

    return inject


def _can_read(propagator: Any) -> bool:
    """Whether stock's own functions and expressions would read the headers. Their names are the object's own."""
    return (
        propagator._trace_id_regex is _TRACE_IDS
        and propagator._span_id_regex is _SPAN_IDS
        and (_extracting.hold() or EXTRACTING.holds_again(_extracting))
    )


def _of_carrier(
    propagator: Any, carrier: Any, context: Context | None, getter: Getter[Any], values: dict[str, Any]
) -> Context | None:
    """The context with what a getter finds, which is noted in `values`; None: stock decides."""
    single = propagator.SINGLE_HEADER_KEY
    texts = []
    for name in (single, propagator.TRACE_ID_KEY, propagator.SPAN_ID_KEY, propagator.SAMPLED_KEY, propagator.FLAGS_KEY):
        found: Any = getter.get(carrier, name)
        values[name] = () if found is None else found
        if not (found is None or type(found) is list or type(found) is tuple):
            # Stock takes the first element of whatever it is.
            return None
        text = found[0] if found else None
        if text and name == single:
            return _of_single(propagator, text, context) if type(text) is str else None
        texts.append(text)
    return _of(propagator, texts[1], texts[2], texts[3] or "0", texts[4], context)


def _of_dict(propagator: Any, carrier: dict[Any, Any], context: Context | None) -> Context | None:
    """The context with what these headers say; None: stock decides."""
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
        if trace_id is not None or not (span_id is None or type(span_id) is str):
            return None
        return Context() if context is None else context
    return _of(propagator, trace_id, span_id, "0" if sampled is None or sampled == "" else sampled, flags, context)


def _of_single(propagator: Any, header: str, context: Context | None) -> Context | None:
    """The context with what the one header says; None: stock decides."""
    fields = header.split("-", 4)
    count = len(fields)
    if count in {2, 3, 4}:
        # The state may be missing: stock records such a span.
        return _of(propagator, fields[0], fields[1], "1" if count == 2 else fields[2], None, context)  # noqa: PLR2004  # see above
    return Context() if context is None else context


def _of(
    propagator: Any, trace_text: Any, span_text: Any, sampled: Any, flags: Any, context: Context | None
) -> Context | None:
    """The context with what these values say; None: stock decides."""
    if not trace_text or not span_text:
        return Context() if context is None else context
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


def _written(context: Context | None) -> tuple[str, ...] | None:
    """The ids and the state to write, nothing if there is no valid span; None: stock decides."""
    try:
        if _injecting.hold() or INJECTING.holds_again(_injecting):
            own: Any = context_to_write(context)
            if own is None or not item(own, 5):
                return None if own is None else ()
            trace_id = write_hexadecimal(item(own, 0), _TRACE_LENGTH)
            return trace_id, write_hexadecimal(item(own, 1), _SPAN_LENGTH), "1" if item(own, 3) & 1 else "0"
    except Exception as error:
        faults.absorb(_INJECT, error)
    return None
