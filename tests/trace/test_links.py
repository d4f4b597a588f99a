"""Links: what a span keeps of them, and what the application has in hand after it."""

from __future__ import annotations

import logging
import os
import random
import threading

import opentelemetry.exporter.otlp.proto.http.trace_exporter as http_exporter
import pytest
import wrapt
from opentelemetry import attributes as attributes_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import INVALID_SPAN_CONTEXT, Link, SpanContext, TraceFlags, TraceState

from otel_fastpath.lazy import lazy

REMOTE = SpanContext(7, 8, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("a", "1")]))
STATE_ONLY = SpanContext(0, 0, is_remote=False, trace_state=TraceState([("a", "1")]))
CONTEXTS = (REMOTE, REMOTE, SpanContext(9, 10, is_remote=False), INVALID_SPAN_CONTEXT, STATE_ONLY)
LIMITS = {
    "default": {},
    "few": {"max_links": 2, "max_link_attributes": 2, "max_attribute_length": 3},
    "none": {"max_links": 0, "max_link_attributes": 0},
    "unset": {"max_links": SpanLimits.UNSET, "max_link_attributes": SpanLimits.UNSET},
}
VALUES = (1, True, 0.5, "text", "longer text", None, b"bytes", ["a", "b"], {"nested": 1}, object, (1, "a"), [])
KEYS = ("a", "b", "c", "key", "", 5)
# What may have a thread.
OPEN = []


class Look(Sampler):
    """Keeps the attributes of the links that it sees."""

    def __init__(self):
        self.seen = []

    def should_sample(self, *args, links=None, **named):
        """Sample all."""
        given = args[5] if len(args) > 5 else links  # stock gives it in this place
        self.seen += [type(getattr(each, "attributes", None)).__name__ for each in given or ()]
        return ALWAYS_ON.should_sample(*args[:5], **named)

    def get_description(self):
        """Its name."""
        return "look"


def provided(kind="batch", limits=(), **more):
    """A provider, and its exporter."""
    provider, exporter = TracerProvider(span_limits=SpanLimits(**dict(limits)), shutdown_on_exit=False, **more), None
    exporter = InMemorySpanExporter()
    made = {"batch": BatchSpanProcessor, "simple": SimpleSpanProcessor}[kind]
    provider.add_span_processor(made(exporter))
    OPEN.append(provider)
    return provider, exporter


@pytest.fixture(autouse=True)
def closed():
    """No thread is left."""
    yield
    while OPEN:
        OPEN.pop().shutdown()


def bounded(attributes):
    """The fields of a container but its lock, which is free."""
    if not isinstance(attributes, BoundedAttributes):
        return repr(attributes)
    assert attributes._lock.acquire(blocking=False)
    attributes._lock.release()
    fields = {name: value for name, value in vars(attributes).items() if name != "_lock"}
    fields["_dict"] = repr(list(fields["_dict"].items()))
    return sorted(fields.items(), key=str)


def shown(span):
    """Everything of a span's links."""
    return [
        (each.context, bounded(each.attributes), each.dropped_attributes) for each in span.links
    ], span.dropped_links


def drawn(draw):
    """A link's context and attributes."""
    attributes = {draw.choice(KEYS): draw.choice(VALUES) for _ in range(draw.randrange(5))}
    plain = {f"key.{number}": draw.choice((1, "text", True, 0.5)) for number in range(draw.randrange(5))}
    bound = BoundedAttributes(2, plain)
    return draw.choice(CONTEXTS), draw.choice((None, {}, attributes, plain, plain, bound))


def encoded(spans):
    """The bytes of the links, as the exporter sends them."""
    request = http_exporter.encode_spans(spans)
    found = [span for of in request.resource_spans for scope in of.scope_spans for span in scope.spans]
    return [[link.SerializeToString() for link in span.links] for span in found], [
        span.dropped_links_count for span in found
    ]


def play(kind, limits, seed):
    """What is seen of random links."""
    draw, seen, sampler = random.Random(seed), [], Look()  # noqa: S311  # it is to repeat
    provider, exporter = provided(kind, LIMITS[limits], **({"sampler": sampler} if seed % 3 == 0 else {}))
    tracer = provider.get_tracer("links")
    for _ in range(10):
        links = [Link(*drawn(draw)) for _ in range(draw.randrange(4))]
        if draw.randrange(5) == 0:
            links.append(draw.choice((None, *links)))
        given = draw.choice((links, tuple(links), links or None))
        span = tracer.start_span("linked", links=given)
        for _ in range(draw.randrange(3)):
            span.add_link(*drawn(draw))
        seen += [shown(span), [None if each is None else bounded(each.attributes) for each in links]]
        span.end()
        span.add_link(REMOTE, {"late": 1})
        seen.append(shown(span))
        if draw.randrange(3) == 0:
            # The same objects once more.
            tracer.start_span("again", links=given).end()
    provider.force_flush()
    spans = exporter.get_finished_spans()
    return seen, sampler.seen, [shown(span) for span in spans], encoded(spans)


@pytest.mark.proves("tracer.start_span", "span.add_link")
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", ["batch", "simple"])
def test_random_links_are_as_in_stock(kind, limits, instrumentor, core, no_faults, caplog):
    """For the application, the sampler, the exporter, and on the wire; with the same warnings."""

    def told():
        found = [(each.name, each.getMessage()) for each in caplog.records if each.name.startswith("opentelemetry")]
        caplog.clear()
        return found

    seeds = range(12)
    with caplog.at_level(logging.WARNING):
        expected = [play(kind, limits, seed) for seed in seeds], told()
        instrumentor.instrument(core=core)
        found = [play(kind, limits, seed) for seed in seeds], told()

    assert found == expected
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("instrumented")
def test_a_container_of_stock_is_made_without_its_constructor(monkeypatch):
    """That is what the patch is for: attributes of plain values are cleaned by nobody."""
    cleaned = []
    original = attributes_api._logger.warning
    monkeypatch.setattr(attributes_api._logger, "warning", lambda *args: cleaned.append(args) or original(*args))
    provider, _ = provided()
    span = provider.get_tracer("links").start_span("linked", links=[Link(REMOTE, {"a": 1})])
    span.add_link(REMOTE, {"b": 2})

    assert [type(each.attributes) for each in span.links] == [BoundedAttributes] * 2
    assert type(span._links) is BoundedList
    assert span.lock is None
    for link in span.links:
        with pytest.raises(TypeError):
            link.attributes["c"] = 3


@pytest.mark.usefixtures("instrumented")
def test_a_subclass_of_links_is_left_to_stock():
    """It may have properties of its own."""

    class Own(Link):
        @property
        def attributes(self):
            return {"own": 1}

    provider, _ = provided()
    span = provider.get_tracer("links").start_span("linked", links=[Own(REMOTE), Link(REMOTE, {"a": 1})])

    assert [dict(each.attributes) for each in span.links] == [{"own": 1}, {"a": 1}]
    assert dict(span.links[0]._attributes) == {"own": 1}


@pytest.mark.usefixtures("instrumented")
def test_a_lazy_attribute_of_a_link_is_made_by_stock():
    """As text, as before."""
    provider, _ = provided()
    span = provider.get_tracer("links").start_span("linked", links=[Link(REMOTE, {"a": lazy(str, 5)})])
    assert [dict(each.attributes) for each in span.links] == [{"a": "5"}]


WRAPPED = [
    (sdk.Span, "_new_links"),
    (sdk.Span, "_add_link"),
    (sdk.Span, "add_link"),
    (sdk, "_is_valid_link"),
    (BoundedAttributes, "__init__"),
    (BoundedList, "append"),
    (BoundedList, "extend"),
    (Link, "__init__"),
]


@pytest.mark.parametrize("when", ["before", "after", "late"])
@pytest.mark.parametrize(("owner", "name"), WRAPPED)
def test_another_vendors_wrapper_is_called(owner, name, when, instrumentor, core, monkeypatch):
    """Of wrapt, put in place before ours, after it, or once spans were started; as often as with stock."""
    calls = []

    @wrapt.decorator
    def note(wrapped, _instance, args, kwargs):
        calls.append(name)
        return wrapped(*args, **kwargs)

    def wrap(patch):
        patch.setattr(owner, name, note(vars(owner)[name]))

    def link(tracer):
        span = tracer.start_span("linked", links=[Link(REMOTE, {"a": 1})])
        calls.clear()
        other = tracer.start_span("linked", links=[Link(REMOTE, {"a": 1})])
        other.add_link(REMOTE, {"b": 2})
        found = len(calls), len(other.links)
        span.end()
        other.end()
        return found

    with monkeypatch.context() as undone:
        wrap(undone)
        expected = link(provided()[0].get_tracer("links"))
    if when == "before":
        wrap(monkeypatch)
    instrumentor.instrument(core=core)
    tracer = provided()[0].get_tracer("links")
    if when == "late":
        link(tracer)
    if when != "before":
        wrap(monkeypatch)

    # With stock, the span's own attributes have a container, too.
    of_span = 1 if owner is BoundedAttributes and when != "before" else 0
    assert link(tracer) == (expected[0] - of_span, expected[1])
    assert expected[0] > of_span


@pytest.mark.usefixtures("instrumented")
def test_threads_lose_no_link():
    """Of those that they add to one span."""
    provider, _ = provided("batch", {"max_links": 10_000})
    span = provider.get_tracer("links").start_span("linked")

    def add():
        for number in range(500):
            span.add_link(REMOTE, {"number": number})

    threads = [threading.Thread(target=add) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert (len(span.links), span.dropped_links) == (2000, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.usefixtures("instrumented")
def test_a_forked_child_adds_its_own():
    """To the span that was open."""
    provider, _ = provided()
    span = provider.get_tracer("links").start_span("linked", links=[Link(REMOTE)])
    child = os.fork()
    if child == 0:
        span.add_link(REMOTE)
        os._exit(0 if len(span.links) == 2 else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert len(span.links) == 1


@pytest.mark.usefixtures("instrumented")
def test_limits_that_were_set_on_the_span_hold():
    """As with stock."""
    provider, _ = provided()
    span = provider.get_tracer("links").start_span("linked")
    span._limits = SpanLimits(max_link_attributes=1, max_attribute_length=2)
    span.add_link(REMOTE, {"a": "long", "b": "longer"})

    assert [dict(each.attributes) for each in span.links] == [{"b": "lo"}]
