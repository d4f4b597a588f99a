"""The read-only span that processors get when a span ends: as stock's, whenever it is looked at."""

from __future__ import annotations

import copy

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider, _Span
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link, SpanContext
from opentelemetry.trace.status import Status, StatusCode

FIELDS = ("name", "context", "kind", "parent", "start_time", "end_time", "status", "attributes", "events", "links")


class Keeps(SpanProcessor):
    """Keeps what it gets."""

    def __init__(self):
        self.spans = []

    def on_end(self, span):
        """Look at nothing."""
        self.spans.append(span)


def ended(change=None):
    """What a processor gets, and the span, changed after its end."""
    keeps = Keeps()
    provider = TracerProvider(resource=Resource({"service.name": "items"}))
    provider.add_span_processor(keeps)
    links = [Link(SpanContext(1, 2, is_remote=True), {"linked": True})]
    span = provider.get_tracer("tests").start_span("order", attributes={"a": 1}, links=links)
    span.add_event("packed", {"b": 2})
    span.end()
    if change is not None:
        change(span)
    return keeps.spans[0], span


def seen(span):
    """What its public properties give."""
    found = {name: getattr(span, name) for name in FIELDS}
    found["status"] = found["status"].status_code
    found["attributes"] = dict(found["attributes"])
    found["events"] = [(event.name, dict(event.attributes)) for event in found["events"]]
    found["links"] = [(link.context.trace_id, dict(link.attributes)) for link in found["links"]]
    return found


def test_it_is_read_only(instrumented):
    """It has what stock's has, and none of the methods that change a span."""
    del instrumented
    readable, _ = ended()

    assert isinstance(readable, ReadableSpan)
    assert type(readable).__name__ == "ReadableSpan"
    assert not [name for name in ("set_attribute", "add_event", "end", "update_name") if hasattr(readable, name)]
    found = seen(readable)
    assert (found["name"], found["attributes"]) == ("order", {"a": 1})
    assert found["events"] == [("packed", {"b": 2})]
    assert found["links"] == [(1, {"linked": True})]
    with pytest.raises(TypeError):
        readable.attributes["a"] = 2


def test_what_happens_to_the_span_afterwards_is_not_seen(instrumented):
    """Nor is what its methods do after its end, which stock ignores with a warning."""
    del instrumented

    def change(span):
        span.set_attribute("late", 1)
        span.add_event("late")
        span._name = "other"
        span._status = Status(StatusCode.ERROR, "late")

    readable, _ = ended(change)

    found = seen(readable)
    assert (found["name"], found["attributes"]) == ("order", {"a": 1})
    assert found["status"] is StatusCode.UNSET
    assert [name for name, _ in found["events"]] == ["packed"]


@pytest.mark.parametrize("is_read_before", [False, True])
def test_what_is_written_to_it_stays_with_it(instrumented, is_read_before):
    """Processors that leave secrets out write to private fields."""
    del instrumented
    readable, span = ended()
    if is_read_before:
        seen(readable)
    readable._attributes = {"a": "***"}
    readable._name = "***"

    assert (readable.name, dict(readable.attributes)) == ("***", {"a": "***"})
    assert (span.name, dict(span.attributes)) == ("order", {"a": 1})


def test_a_copy_is_of_stock(instrumented):
    """With the same fields."""
    del instrumented
    readable, _ = ended()
    found = copy.copy(readable)

    assert type(found) is ReadableSpan
    assert seen(found) == seen(readable)


def test_a_method_that_somebody_replaced_is_called(instrumented, monkeypatch):
    """What makes the read-only span is stock's, and others may wrap it."""
    del instrumented
    stock = _Span._readable_span
    seen_names = []

    def replaced(self):
        seen_names.append(self.name)
        return stock(self)

    monkeypatch.setattr(_Span, "_readable_span", replaced)
    readable, _ = ended()

    assert seen_names == ["order"]
    assert seen(readable)["attributes"] == {"a": 1}


def test_a_constructor_that_somebody_replaced_is_called(instrumented, monkeypatch):
    """Instrumentations add fields there."""
    del instrumented
    stock = ReadableSpan.__init__

    def replaced(self, *args, **kwargs):
        stock(self, *args, **kwargs)
        self.project = "mine"

    monkeypatch.setattr(ReadableSpan, "__init__", replaced)
    readable, _ = ended()

    assert readable.project == "mine"
    assert seen(readable)["attributes"] == {"a": 1}


def test_other_code_that_creates_one_of_its_class_gets_one_of_stock(instrumented):
    """`type(span)(...)` works as stock, for the span, its read-only copy and a span that is not recorded."""
    del instrumented
    readable, span = ended()
    context = SpanContext(1, 2, is_remote=False)

    copied = type(readable)("copied", context=context, attributes={"a": 1}, resource=Resource({}))
    assert dict(copied.attributes) == {"a": 1}
    assert (copied.name, copied.context, copied.events, copied.links) == ("copied", context, (), ())
    assert type(copied) is ReadableSpan

    made = type(span)("made", context=context, attributes={"a": 1}, resource=Resource({}))
    made.start()
    made.set_attribute("b", 2)
    made.end()
    assert dict(made.attributes) == {"a": 1, "b": 2}
    assert type(made) is _Span

    dropped = TracerProvider(sampler=ALWAYS_OFF).get_tracer("tests").start_span("dropped")
    assert type(dropped)(context).get_span_context() is context


def test_a_span_is_made_of_nine_classes(instrumented):
    """With its read-only copy, one that is dropped, and its events: a newcomer has to know no more."""
    del instrumented
    readable, span = ended()
    dropped = TracerProvider(sampler=ALWAYS_OFF).get_tracer("tests").start_span("order")
    kinds = {kind for made in (span, readable, dropped, readable.events[0]) for kind in type(made).__mro__}

    assert len({kind for kind in kinds if kind.__module__.startswith("otel_fastpath.")}) == 9
