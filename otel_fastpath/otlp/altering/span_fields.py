"""The fields of a span that are encoded, with the rule for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder
from opentelemetry.proto.trace.v1.trace_pb2 import Status as PB2Status
from opentelemetry.trace import SpanKind
from opentelemetry.trace.status import StatusCode

from otel_fastpath.otlp.altering.rules import (
    Fields,
    accepted,
    any_attributes,
    dropped,
    each,
    identifier,
    optional,
    text,
    time,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.otlp.altering.rules import Walk


def _trace_state(state: Any, walk: Walk, name: str) -> dict[str, str]:
    return {text(f"{key}", walk, name): text(f"{value}", walk, name) for key, value in state.items()}


def _own_context(get: Any, walk: Walk, name: str) -> Any:
    context = _CONTEXT(get(), walk, name)
    return lambda: context


_CONTEXT: Final = Fields(
    "span", trace_id=identifier(16), span_id=identifier(8), trace_state=optional(_trace_state, None)
)
_PARENT: Final = Fields("parent", span_id=identifier(8), is_remote=accepted(bool))
_LINKED: Final = Fields("link", trace_id=identifier(16), span_id=identifier(8), is_remote=accepted(bool))

SPAN: Final = Fields(
    "span",
    get_span_context=_own_context,
    parent=optional(_PARENT, None),
    name=text,
    kind=optional(accepted(lambda kind: trace_encoder._SPAN_KIND_MAP[kind]), SpanKind.INTERNAL),
    start_time=time,
    end_time=time,
    attributes=any_attributes,
    events=optional(
        each(Fields("event", name=text, timestamp=time, attributes=any_attributes, dropped_attributes=dropped)), ()
    ),
    links=optional(each(Fields("link", context=_LINKED, attributes=any_attributes, dropped_attributes=dropped)), ()),
    status=optional(
        Fields(
            "status",
            status_code=optional(accepted(lambda code: PB2Status(code=code.value)), StatusCode.UNSET),
            description=text,
        ),
        None,
    ),
    dropped_attributes=dropped,
    dropped_events=dropped,
    dropped_links=dropped,
)


def attributes(span: Any, encoded: Any) -> Iterator[tuple[str, Any, Any]]:
    """The names of fields, the attributes of a span, and those of its message."""
    yield "span.attributes", span.attributes, encoded.attributes
    for event, made in zip(span.events, encoded.events, strict=True):
        yield "event.attributes", event.attributes, made.attributes
    for link, made in zip(span.links, encoded.links, strict=True):
        yield "link.attributes", link.attributes, made.attributes
