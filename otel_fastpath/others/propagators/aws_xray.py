"""The header of AWS X-Ray. Plain Python; compiled as `aws_xray_c`.

https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.context.context import Context
from opentelemetry.propagators.textmap import default_getter, default_setter

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.compiled.helpers import get_item, item
from otel_fastpath.compiled.traceparent import read_hexadecimal, write_hexadecimal
from otel_fastpath.others.propagators.stock_aws_xray import EXTRACTING, INJECTING, NAME
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN
from otel_fastpath.trace.propagation.carriers import put
from otel_fastpath.trace.propagation.known_headers import with_known_headers
from otel_fastpath.trace.propagation.trace_context import context_to_write, with_remote

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.propagators.textmap import Getter, Setter

_EXTRACT = "AwsXRayPropagator.extract"
_INJECT = "AwsXRayPropagator.inject"
_NAME: Final = NAME
_TRACE_LENGTH: Final = 35
_SPAN_LENGTH: Final = 16
_USUAL_LENGTH: Final = 74
# Usual headers are shorter. A longer one must not be read twice.
_LONGEST: Final = 512
# What is not called: other code may replace it.
_extracting = Facts(UNKNOWN)
_injecting = Facts(UNKNOWN)


def make_extract(original: Callable[..., Context]) -> Callable[..., Context]:
    """Make the method that returns a context with the remote parent read from a carrier."""

    def extract(
        self: Any, carrier: Any, context: Context | None = None, getter: Getter[Any] = default_getter
    ) -> Context:
        headers = None
        try:
            if (
                getter is not None
                and (_extracting.hold() or EXTRACTING.holds_again(_extracting))
                and (context is None or type(context) is Context)
            ):
                if getter is default_getter and type(carrier) is dict:
                    header = get_item(carrier, _NAME)
                    if not header and (header is None or type(header) is str):
                        return Context() if context is None else context
                else:
                    headers = getter.get(carrier, _NAME)
                    if not headers or (type(headers) is list and len(headers) != 1):
                        return Context() if context is None else context
                    header = headers[0] if type(headers) is list else None
                made = _of(header, context) if type(header) is str else None
                if made is not None:
                    return made
        except Exception as error:
            faults.absorb(_EXTRACT, error)
        if headers is not None:
            getter = with_known_headers(_EXTRACT, getter, {_NAME: headers})
        return original(self, carrier, context, getter)

    return extract


def make_inject(original: Callable[..., None]) -> Callable[..., None]:
    """Make the method that writes the header of the current span."""

    def inject(self: Any, carrier: Any, context: Context | None = None, setter: Setter[Any] = default_setter) -> None:
        header = _written(context)
        if header is None:
            original(self, carrier, context, setter)
        elif header:
            put(carrier, _NAME, header, setter)

    return inject


def _of(header: str, context: Context | None) -> Context | None:
    """The context with what this header says; None: stock decides, for example about one that it logs."""
    if len(header) > _LONGEST:
        return None
    # So it is written here, and by AWS.
    is_usual = (
        len(header) == _USUAL_LENGTH
        and header[:7] == "Root=1-"
        and header[15] == "-"
        and header[40:48] == ";Parent="
        and header[64:73] == ";Sampled="
        and header[73] in "01"
    )
    if is_usual:
        trace_id = read_hexadecimal(header[7:15] + header[16:40])
        span_id = read_hexadecimal(header[48:64])
        if trace_id and span_id:
            return with_remote(context, trace_id, span_id, 1 if header[73] == "1" else 0)
    trace_id = span_id = None
    flags = 0
    for pair in header.split(";"):
        key, equals, text = pair.partition("=")
        if not equals or "=" in text:
            return None
        name, value = key.strip(), text.strip()
        if name == "Root":
            if len(value) != _TRACE_LENGTH or value[:2] != "1-" or value[10] != "-":
                return None
            trace_id = read_hexadecimal(value[2:10] + value[11:])
            if not trace_id:
                return None
        elif name == "Parent":
            span_id = read_hexadecimal(value) if len(value) == _SPAN_LENGTH else None
            if not span_id:
                return None
        elif name == "Sampled":
            if value not in {"0", "1"}:
                return None
            flags = 1 if value == "1" else 0
    return with_remote(context, trace_id, span_id, flags) if trace_id and span_id else None


def _written(context: Context | None) -> str | None:
    """What is written of a context, perhaps nothing; None: stock's propagator decides."""
    try:
        if not (_injecting.hold() or INJECTING.holds_again(_injecting)):
            return None
        own = context_to_write(context)
        if own is None or not item(own, 5):
            return None if own is None else ""
        trace_id = write_hexadecimal(item(own, 0), 32)  # type: ignore[arg-type]  # as SpanContext has it
        span_id = write_hexadecimal(item(own, 1), _SPAN_LENGTH)  # type: ignore[arg-type]  # likewise
        sampled = "1" if item(own, 3) & 1 else "0"  # type: ignore[operator]  # likewise
        return f"Root=1-{trace_id[:8]}-{trace_id[8:]};Parent={span_id};Sampled={sampled}"
    except Exception as error:
        faults.absorb(_INJECT, error)
        return None
