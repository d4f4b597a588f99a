"""OTLP export of spans: `encode_spans` of the exporters of `opentelemetry-exporter-otlp-proto-http` and `-grpc`.

Stock: 302,000 instructions for a span with seven attributes, holding the GIL for milliseconds at a time. Here the spans
are encoded directly as bytes. Transport, retries, compression, headers and TLS remain upstream's.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.otlp.exporters import COMMON, COMMON_NAMES, Replacement, Request, nulls, patch, readers
from otel_fastpath.patching.patch import SkipError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
_RESTS_ON: Final = (
    *(f"{COMMON}:{name}" for name in COMMON_NAMES),
    *(f"{COMMON}.trace_encoder:{name}" for name in _TRACE_NAMES),
    "opentelemetry.sdk.trace:Event.__init__",
    "opentelemetry.sdk.trace:Event.attributes",
    "opentelemetry.sdk.trace:Event.dropped_attributes",
    "opentelemetry.sdk.trace:ReadableSpan.__init__",
    "opentelemetry.sdk.trace:ReadableSpan.attributes",
    "opentelemetry.sdk.trace:ReadableSpan.dropped_attributes",
    "opentelemetry.sdk.trace:ReadableSpan.events",
    "opentelemetry.sdk.trace:ReadableSpan.links",
    "opentelemetry.sdk.trace:ReadableSpan.resource",
)
# In the order of the members of SpanKind.
_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


def _request_class() -> Any:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: PLC0415  # only where it is being patched

    return ExportTraceServiceRequest


def _upstream() -> Any:
    """Upstream's functions for the parts that our encoder leaves to upstream, looked up at each call."""
    from opentelemetry.exporter.otlp.proto.common import _internal  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder  # noqa: PLC0415  # likewise
    from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  # likewise
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415  # likewise

    from otel_fastpath.otlp.altering import rules, spans  # noqa: PLC0415  # likewise
    from otel_fastpath.otlp.trace_requests import Upstream  # noqa: PLC0415  # likewise

    request_class = _request_class()

    def span(sdk_span: Any) -> bytes:
        encoded = trace_encoder._encode_span(sdk_span)
        # Serialized as part of a whole request, so that a value that is nested too deeply fails as it would there.
        scope_spans = ScopeSpans(spans=[encoded])
        request_class(resource_spans=[ResourceSpans(scope_spans=[scope_spans])]).SerializePartialToString()
        rules.count_left_out(spans.attributes(sdk_span, encoded))
        return bytes(encoded.SerializePartialToString())

    def resource(owner: Any) -> tuple[bytes, bytes, bool]:
        encoded = _internal._encode_resource(owner)
        head, tail = ResourceSpans(resource=encoded), ResourceSpans(schema_url=owner.schema_url)
        complete = len(encoded.attributes) == len(owner.attributes)
        return head.SerializePartialToString(), tail.SerializePartialToString(), complete

    def scope(owner: Any) -> tuple[bytes, bytes, bool]:
        encoded = _internal._encode_instrumentation_scope(owner)
        head, tail = ScopeSpans(scope=encoded), ScopeSpans(schema_url=owner.schema_url if owner else "")
        complete = owner is not None and len(encoded.attributes) == len(owner.attributes)
        return head.SerializePartialToString(), tail.SerializePartialToString(), complete

    return Upstream(span, spans.SPAN, resource, scope, (Resource, InstrumentationScope), nulls(_internal))


@functools.cache
def _encoder(implementation: str) -> Encoder:
    from otel_fastpath.otlp.trace_requests import Encoder  # noqa: PLC0415  # it imports the SDK: only where it is being patched

    return Encoder(compiled.hot("otlp.encoder", implementation), _upstream())


def _make(original: Any, wrap: Callable[[bytes], Any]) -> Any:
    from opentelemetry.exporter.otlp.proto.common import _internal  # noqa: PLC0415  # only where it is being patched
    from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder  # noqa: PLC0415  # likewise

    if original is not trace_encoder.encode_spans:
        raise SkipError(f"encode_spans is not upstream's own, but {original!r}")
    if {kind.name: number for kind, number in trace_encoder._SPAN_KIND_MAP.items()} != _KINDS:
        raise SkipError("upstream's numbers of span kinds are not those that the encoder writes")
    encoder = _encoder(compiled.implementation()[0])
    used = readers((*COMMON_NAMES, *_TRACE_NAMES), _internal, trace_encoder)
    replacement = Replacement(original, encoder.encode, encoder.encode_each, wrap, used)

    @functools.wraps(original)
    def encode_spans(sdk_spans: Sequence[Any]) -> Any:
        return replacement(sdk_spans)

    return encode_spans


def _make_http(original: Any, _settings: Config) -> Any:
    return _make(original, functools.partial(Request, _request_class()))


def _make_grpc(original: Any, _settings: Config) -> Any:
    # grpc's serializer is a method of the message class, so it needs such a message. Parsing costs a tenth of encoding.
    return _make(original, _request_class().FromString)


def _patch(transport: str, why: str, make: Callable[[Any, Config], Any], budget: str) -> Patch:
    return patch(transport, "spans", "trace_exporter:encode_spans", why, make, _RESTS_ON, budget)


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
