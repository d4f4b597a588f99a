"""Where the source of stock's `_encode_span` is not known, it runs, and its parts are encoded by this package."""

from __future__ import annotations

from types import ModuleType

import pytest
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.exporter.otlp.proto.common._internal import trace_encoder
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceState

from otel_fastpath.otlp.span_steps import SpanSteps, read_by

RESOURCE, SCOPE = Resource({"service.name": "shop"}), InstrumentationScope("scope")
CONTEXT = SpanContext(1 << 100, 1 << 50, is_remote=True, trace_state=TraceState([("vendor", "value")]))
ATTRIBUTES = {"text": "x" * 200, "int": -1, "float": 0.5, "bool": True, "list": ["a", "b"], "map": {"a": [1, None]}}
LOCAL = SpanContext(3, 4, is_remote=False)


def span(**fields):
    """A span that has ended."""
    given = {"resource": RESOURCE, "instrumentation_scope": SCOPE, "start_time": 5, "end_time": 9, **fields}
    return ReadableSpan(given.pop("name", "name"), given.pop("context", CONTEXT), **given)


def full():
    """The container of one attribute, which has lost another."""
    return BoundedAttributes(1, {"a": 1, "b": 2}, immutable=False)


SPANS = {
    "nothing": span(),
    "attributes": span(attributes=ATTRIBUTES, kind=SpanKind.SERVER),
    "a container": span(attributes=full()),
    "events": span(events=[Event("event", ATTRIBUTES, 7), Event("", None, 8)], status=Status(StatusCode.OK)),
    "links": span(links=[Link(LOCAL, ATTRIBUTES), Link(CONTEXT)], parent=CONTEXT),
    "no times": span(start_time=None, end_time=None, parent=LOCAL),
    "an error": span(
        status=Status(StatusCode.ERROR, "bad"), attributes={"a": 1}, events=[Event("e")], links=[Link(LOCAL)]
    ),
}


def started(limits=None):
    """A span that this process has recorded and ended, with every part."""
    made = TracerProvider(span_limits=limits, shutdown_on_exit=False).get_tracer("name")
    with made.start_as_current_span("recorded", attributes=ATTRIBUTES, links=[Link(CONTEXT, {"a": 1})] * 3) as found:
        for number in range(3):
            found.add_event("event", {"number": number})
    return found


def with_function(source):
    """Stock's module with another function."""
    module = ModuleType("changed")
    vars(module).update(vars(trace_encoder))
    exec(f"def _encode_span(sdk_span):\n    {source}\n", vars(module))  # noqa: S102  # the source of another release
    return module


def encoded(encoder, module, spans):
    """What is encoded of spans of one resource and scope; the index of the first that is left to stock."""
    group = encoder.EncodedSpans(lambda: None, True)  # noqa: FBT003  # of the compiled class
    steps = SpanSteps(module, encoder, nulls=True)
    groups = {(id(each.resource), id(each.instrumentation_scope)): group for each in spans}
    at = steps.encode_run(spans, 0, groups)
    return at, trace_encoder.PB2ScopeSpans.FromString(group.content()).spans if group.content() else []


@pytest.fixture(params=["py", "c"])
def encoder(request):
    """The module that encodes."""
    if request.param == "py":
        from otel_fastpath.otlp import encoder as found  # one of the two
    else:
        found = pytest.importorskip("otel_fastpath.otlp.encoder_c")
    return found


@pytest.mark.parametrize("name", SPANS)
def test_a_span_is_encoded_as_stock_does(encoder, name):
    """The bytes are the same."""
    at, [found] = encoded(encoder, trace_encoder, [SPANS[name]])

    assert at == 1
    expected = trace_encoder._encode_span(SPANS[name])
    assert found == expected
    assert found.SerializePartialToString() == expected.SerializePartialToString()


@pytest.mark.parametrize("limits", [None, SpanLimits(max_span_attributes=1, max_events=1, max_links=1)])
def test_a_recorded_span_is_encoded_as_stock_does(encoder, limits):
    """Also with numbers of what was dropped."""
    found = started(limits)
    _, [message] = encoded(encoder, trace_encoder, [found])

    assert message == trace_encoder._encode_span(found)
    assert (message.dropped_links_count > 0) == (limits is not None)


@pytest.mark.parametrize("value", [object(), {1}, 1 << 70, "\ud800"])
def test_what_cannot_be_encoded_is_left_to_stock(encoder, value):
    """With the spans before it encoded."""
    odd = span()
    odd._attributes = {"odd": value}

    at, found = encoded(encoder, trace_encoder, [SPANS["events"], odd, SPANS["links"]])

    assert at == ~1
    assert len(found) == 1


def test_another_function_is_followed(encoder):
    """What it says of a span is what is sent."""
    module = with_function(
        "return PB2SPan(name=sdk_span.name + '~', kind=3, attributes=_encode_attributes({'own': 1}),"
        " links=_encode_links(sdk_span.links[:1]), events=_encode_events(None), flags=7)"
    )

    at, [found] = encoded(encoder, module, [SPANS["links"]])

    assert at == 1
    assert found == module._encode_span(SPANS["links"])
    assert {"PB2SPan", "_encode_attributes", "_encode_links", "_encode_events"} <= set(read_by(module))


@pytest.mark.parametrize(
    "body",
    [
        "return PB2SPan(name='a')",
        "found = PB2SPan(name='a', attributes=_encode_attributes(sdk_span.attributes)); found.kind = 3; return found",
        "return PB2SPan(attributes=_encode_links(()), links=_encode_attributes({}), events=_encode_events(()))",
        "return PB2SPan(attributes=[*_encode_attributes({'a': 1})], events=_encode_events(()))",
        "raise LookupError",
    ],
)
def test_a_function_that_does_more_is_left_alone(encoder, body):
    """Stock's own runs for each span, with its own functions."""
    assert encoded(encoder, with_function(body), [SPANS["links"]]) == (~0, [])


def test_a_span_of_another_group_ends_the_run(encoder):
    """The caller makes the group."""
    steps = SpanSteps(trace_encoder, encoder, nulls=True)

    assert steps.encode_run([SPANS["nothing"]], 0, {}) == 0


def test_nothing_is_swallowed_that_a_signal_raises(encoder):
    """An interruption arrives at the host."""

    class InterruptingSpan(ReadableSpan):
        @property
        def name(self):
            raise KeyboardInterrupt

    interrupting = InterruptingSpan("name", CONTEXT, resource=RESOURCE, instrumentation_scope=SCOPE)

    with pytest.raises(KeyboardInterrupt):
        encoded(encoder, trace_encoder, [interrupting])
