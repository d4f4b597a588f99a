"""OTLP export of spans: `encode_spans` of the exporters of `opentelemetry-exporter-otlp-proto-http` and `-grpc`.

Stock: 302,000 instructions for a span with seven attributes, holding the GIL for milliseconds at a time. Here the spans
are encoded directly as bytes. Transport, retries, compression, headers and TLS remain stock's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.compiled import hot
from otel_fastpath.otlp.exporters import COMMON, EncodedRequest, patch, replace, stock
from otel_fastpath.patching.sources.guard import ReplacedError, SkipError, check_sources
from otel_fastpath.trace.stock_sources import sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.otlp.trace_requests import Encoder
    from otel_fastpath.patching.patch import Patch
    from otel_fastpath.settings import Config

_TRACE_NAMES: Final = (
    "_encode_events",
    "_encode_links",
    "_encode_parent_id",
    "_encode_resource_spans",
    "_encode_span",
    "_encode_status",
    "_encode_trace_state",
    "_span_flags",
    "encode_spans",
)
_READ_OF: Final = {
    "opentelemetry.sdk.trace:ReadableSpan": (
        *("attributes", "dropped_attributes", "dropped_events", "dropped_links", "end_time", "events"),
        *("get_span_context", "instrumentation_scope", "kind", "links", "name", "parent", "resource", "start_time"),
        "status",
    ),
    "opentelemetry.sdk.trace:EventBase": ("name", "timestamp"),
    "opentelemetry.sdk.trace:Event": ("attributes", "dropped_attributes"),
    "opentelemetry.sdk.util:BoundedList": ("__iter__", "__len__"),
    "opentelemetry.trace:_LinkBase": ("context",),
    "opentelemetry.trace:Link": ("attributes", "dropped_attributes"),
    "opentelemetry.trace.span:SpanContext": ("is_remote", "span_id", "trace_id", "trace_state"),
    "opentelemetry.trace.span:TraceState": ("__getitem__", "__iter__", "__len__", "items"),
    "opentelemetry.trace.status:Status": ("description", "status_code"),
}
# The properties and methods that stock calls for each span, and the encoder does not.
_PROPERTIES: Final = tuple(f"{owner}.{name}" for owner, names in _READ_OF.items() for name in names)
# It runs if its source is not known: see `span_steps`.
_SPAN: Final = f"{COMMON}.trace_encoder:_encode_span"
_RESTS_ON: Final = (
    *(place for name in _TRACE_NAMES if (place := f"{COMMON}.trace_encoder:{name}") != _SPAN),
    "opentelemetry.sdk.trace:Event.__init__",
    "opentelemetry.sdk.trace:ReadableSpan.__init__",
    *_PROPERTIES,
)
# In the order of the members of SpanKind.
_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


def _request_class() -> Any:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: PLC0415  # only where it is being patched

    return ExportTraceServiceRequest


def _stock() -> Any:
    """Stock's functions, looked up at each call."""
    from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.altering import span_fields  # noqa: PLC0415  # likewise

    def encode(span: Any) -> Any:
        return trace_encoder._encode_span(span)

    return stock(_request_class(), ResourceSpans, ScopeSpans, encode, span_fields.SPAN, span_fields.attributes)


@functools.cache
def _encoder(_core: str, *, is_known: bool = True) -> Encoder:
    from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.span_steps import SpanSteps  # noqa: PLC0415  # likewise
    from otel_fastpath.otlp.trace_requests import Encoder  # noqa: PLC0415  # it imports the SDK: only where it is being patched

    made = _stock()
    steps = None if is_known else SpanSteps(trace_encoder, hot.otlp_encoder, made.nulls).encode_run
    return Encoder(hot.otlp_encoder, made, steps)


def _is_known() -> bool:
    """Whether the source of stock's function for one span is known.

    Raises:
        ReplacedError: Other code has replaced it.
    """
    try:
        check_sources(sources(_SPAN), frozenset())
    except ReplacedError:
        raise
    except SkipError:
        return False
    return True


def _make(original: Any, wrap: Callable[[bytes], Any]) -> Any:
    from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp import span_steps  # noqa: PLC0415  # likewise

    if {kind.name: number for kind, number in trace_encoder._SPAN_KIND_MAP.items()} != _KINDS:
        raise SkipError("stock's numbers of span kinds are not those that the encoder writes")
    is_known = _is_known()
    encoder = _encoder(compiled.implementation()[0], is_known=is_known)
    names = _TRACE_NAMES if is_known else (*span_steps.read_by(trace_encoder), *_TRACE_NAMES)
    return replace(original, trace_encoder, names, encoder.encode, encoder.encode_each, wrap, _PROPERTIES)


def _make_http(original: Any, _settings: Config) -> Any:
    return _make(original, functools.partial(EncodedRequest, _request_class()))


def _make_grpc(original: Any, _settings: Config) -> Any:
    # grpc's serializer is a method of the message class, so it needs such a message. Parsing costs a tenth of encoding.
    return _make(original, _request_class().FromString)


def _patch(transport: str, why: str, make: Callable[[Any, Config], Any], budget: str) -> Patch:
    return patch(transport, "spans", "trace_exporter:encode_spans", why, make, _RESTS_ON, budget, (_SPAN,))


PATCHES: Final = (
    _patch(
        "http",
        "Encoding a span takes 302,000 instructions while holding the GIL; here its bytes are written directly.",
        _make_http,
        "otlp, one more span, 7 attributes",
    ),
    _patch(
        "grpc",
        "The same encoder as over HTTP; its bytes are then parsed into the message that grpc needs.",
        _make_grpc,
        "otlp over grpc, one more span, 7 attributes",
    ),
)
