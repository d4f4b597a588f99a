"""Programs of spans: nesting, attributes, events, links, exceptions, samplers, processors, limits, propagation."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import baggage, context, propagate, trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, sampling
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import Link, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from otel_fastpath.tools.prove.program import Program
from otel_fastpath.tools.prove.values_drawn import NAMES, TEXTS, WORDLESS, attributes, fail, maybe, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.tools.prove.program import ProgramRun

_STEPS: Final = 6
_DEEPEST: Final = 3
_PARENT: Final = {
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "tracestate": "vendor=value,other=1",
    "baggage": "user=ann,tenant=b%20c;property",
}
_WRONG_PARENTS: Final = (
    "",
    "none",
    "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
    "00-00000000000000000000000000000000-b7ad6b7169203331-01",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-" + "0" * 5000,
)
_WRONG_STATES: Final = (
    "",
    "a=1,a=2",
    "=",
    "x" * 5000,
    "k=" + "v" * 10_000,
    ",".join(f"k{each}=v" for each in range(40)),
)
_RESOURCE: Final = Resource({"service.name": "another"})
_WRONG_ATTRIBUTES: Final[dict[str, Any]] = {"a": 1, "set": {1}, "": 2}
_READ: Final = (
    *("name", "kind", "parent", "context", "resource", "instrumentation_scope", "instrumentation_info"),
    *("dropped_attributes", "dropped_events", "dropped_links"),
)
# The number and the length of entries.
_LARGE_BAGGAGE: Final = ((180, 8), (1, 4096), (3, 2730), (91, 89))
_TIME: Final = 1_600_000_000_000_000_000


class _Marking(SpanProcessor):
    """Adds an attribute to each span that starts, as processors of applications do."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        span.set_attribute("marked", parent_context is not None)


class _OwnSampler(sampling.Sampler):
    """Decides by the name of a span, and adds to it."""

    def should_sample(self, parent_context: Any, trace_id: int, name: str, *_args: Any, **_more: Any) -> Any:
        decision = list(sampling.Decision)[len(name) % 3]
        return sampling.SamplingResult(
            decision,
            {"asked": trace_id > 0, "below": parent_context is not None},
            trace.TraceState([("own", "sampler")]),
        )

    def get_description(self) -> str:
        return "own"


class _OwnIds(IdGenerator):
    """Small ids, which the seed decides."""

    def generate_span_id(self) -> int:
        return random.getrandbits(16) + 1

    generate_trace_id = generate_span_id


_SETUPS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"tracing": {"sampler": sampling.ParentBased(sampling.TraceIdRatioBased(0.6))}},
    {
        "processors": ("simple",),
        "tracing": {"span_limits": SpanLimits(max_span_attributes=3, max_events=2, max_span_attribute_length=4)},
    },
    {"processors": ("batch", "memory"), "tracing": {"sampler": sampling.ALWAYS_ON}},
    {"tracing": {"sampler": sampling.TraceIdRatioBased(0.5)}, "processors": ("memory",)},
    {"processors": ("marking", "batch")},
    {"tracing": {"sampler": sampling.StaticSampler(sampling.Decision.RECORD_ONLY)}, "processors": ("memory", "batch")},
    {"is_measured": True},
    {"is_measured": True, "processors": ("simple",), "status": 400},
    {"status": 0, "processors": ("batch", "memory")},
    {"queue_size": 3},
    {"exporting": {"compression": Compression.Gzip, "headers": {"x-key": "secret"}, "timeout": 5}},
    {"tracing": {"sampler": _OwnSampler(), "id_generator": _OwnIds()}},
    {"tracing": {"sampler": sampling.ParentBased(sampling.ALWAYS_OFF, local_parent_not_sampled=sampling.ALWAYS_ON)}},
    {"tracing": {"sampler": sampling.TraceIdRatioBased(0.5)}, "processors": ("simple",)},
    {"processors": ("raising", "memory")},
    {"tracing": {"span_limits": SpanLimits(max_span_attributes=0, max_links=1, max_link_attributes=0)}},
)


class _Spans:
    """Takes the steps of one half."""

    def __init__(self, run: ProgramRun, tracer: trace.Tracer, draw: random.Random) -> None:
        self._run = run
        self._tracer = tracer
        self._draw = draw

    def start(self) -> dict[str, Any]:
        """Arguments of a span."""
        draw = self._draw
        return maybe(
            draw,
            2,
            kind=draw.choice(list(SpanKind)),
            attributes=attributes(draw),
            links=[Link(trace.get_current_span().get_span_context(), attributes(draw, 2))],
        ) | maybe(draw, 6, start_time=_TIME, record_exception=False, set_status_on_exception=False)

    def block(self, depth: int = 0) -> None:
        """A span, and what happens inside of it."""
        draw = self._draw
        with self._tracer.start_as_current_span(draw.choice(NAMES), **self.start()) as span:
            for _ in range(draw.randrange(1, _STEPS)):
                self.step(span)
                if depth < _DEEPEST and draw.randrange(3) == 0:
                    self._run.attempt(self.block, depth + 1)
            if draw.randrange(5) == 0:
                raise KeyError(draw.choice(TEXTS))

    def step(self, span: trace.Span) -> None:
        """One step."""
        draw = self._draw
        name = draw.choice(_STEP_NAMES)
        self._run.attempt(getattr(self, f"_do_{name}"), span)

    def _do_attributes(self, span: trace.Span) -> None:
        span.set_attribute("key", value(self._draw))
        span.set_attributes(attributes(self._draw))

    def _do_event(self, span: trace.Span) -> None:
        draw = self._draw
        span.add_event(draw.choice(NAMES), **maybe(draw, 2, attributes=attributes(draw), timestamp=_TIME + 1))

    def _do_link(self, span: trace.Span) -> None:
        span.add_link(trace.get_current_span().get_span_context(), attributes(self._draw))

    def _do_status(self, span: trace.Span) -> None:
        draw = self._draw
        span.set_status(draw.choice((StatusCode.OK, StatusCode.ERROR, Status(StatusCode.ERROR, "bad"), Status())))
        span.set_status(StatusCode.ERROR, draw.choice(TEXTS))

    def _do_exception(self, span: trace.Span) -> None:
        draw = self._draw
        try:
            fail(draw)
        except LookupError as error:
            span.record_exception(error, **maybe(draw, 3, attributes=attributes(draw), escaped=True, timestamp=_TIME))

    def _do_rename(self, span: trace.Span) -> tuple[bool, bool]:
        span.update_name(self._draw.choice(NAMES))
        return span.is_recording(), span.get_span_context().is_valid

    def _do_child(self, span: trace.Span) -> None:
        child = self._tracer.start_span("child", trace.set_span_in_context(span), **self.start())
        with trace.use_span(child, **maybe(self._draw, 2, end_on_exit=True, record_exception=False)):
            trace.get_current_span().set_attribute("current", value=True)
        child.end(**maybe(self._draw, 4, end_time=_TIME + 5))
        self._change(child)

    def _change(self, span: Any) -> None:
        """Everything that a span takes until it has ended."""
        span.set_attribute("late", 1)
        span.set_attributes(attributes(self._draw))
        span.update_name("late")
        span.set_status(StatusCode.ERROR)
        span.add_event("late")
        span.add_link(span.get_span_context())
        span.end()

    def _do_made(self, span: Any) -> str:
        """Spans that are made without a tracer, as by bridges from other formats."""
        found, draw = span.get_span_context(), self._draw
        processor = getattr(self._tracer, "span_processor", SpanProcessor())
        given: dict[str, Any] = {"start_time": _TIME, "end_time": _TIME + 7, "resource": _RESOURCE}
        events = [sdk.Event("made", attributes(draw), _TIME + 1)]
        links = [Link(found, attributes(draw, 2)), Link(found)]
        readable = sdk.ReadableSpan("made", found, attributes=attributes(draw), events=events, links=links, **given)
        processor.on_end(readable)
        made: Any = sdk._Span("own", found, resource=_RESOURCE, events=events, span_processor=processor)
        self._run.attempt(made.end)
        made.start(_TIME)
        made.start()
        self._change(made)
        self._change(made)
        dropped = [(each.dropped_attributes, each.dropped_events, each.dropped_links) for each in (readable, made)]
        other = sdk._Span("of no resource", found).resource.schema_url
        return f"{dropped} {other} {events[0].dropped_attributes} {links[1].dropped_attributes} {made}"

    def _do_api(self, span: trace.Span) -> str:
        """Tracers that record nothing by themselves."""
        with trace.NoOpTracer().start_as_current_span("nothing") as nothing:
            nothing.set_attribute("key", 1)
        with trace.ProxyTracer("name").start_as_current_span("nothing", **self.start()):
            pass
        found = span.get_span_context()
        remote = trace.SpanContext(
            found.trace_id,
            found.span_id,
            is_remote=True,
            trace_state=trace.TraceState([("vendor", "value"), ("b", "1")]),
        )
        with self._tracer.start_as_current_span(
            "of a vendor", trace.set_span_in_context(trace.NonRecordingSpan(remote))
        ):
            trace.get_current_span().add_link(remote)
        state, local = remote.trace_state, trace.SpanContext(1, 2, is_remote=False, trace_flags=None)
        return f"{state.to_header()} {list(state.items())} {list(state)} {state['vendor']} {local}"

    def _do_mistake(self, span: trace.Span) -> None:
        wrong: Any = span
        draw = self._draw
        mistakes: tuple[Callable[[], object], ...] = (
            lambda: wrong.set_attribute(draw.choice(("", None, 5)), draw.choice(TEXTS)),
            lambda: wrong.set_status("bad"),
            lambda: wrong.add_event(None),
            lambda: wrong.set_attributes({"": 1, "object": object, "set": {1}, "mixed": [1, "a", None]}),
            lambda: wrong.record_exception("no exception"),
            lambda: BoundedAttributes(-1, {"a": 1}),
            lambda: BoundedAttributes(1, {"a": 1}, max_value_len=-1),
            # As methods of spans that have ended do.
            lambda: getattr(BoundedAttributes(3, {"a": 1}), "_set_items", dict)({"b": 1}),
            lambda: wrong.set_attributes({5: "five", "": 1, WORDLESS: 1}),
            lambda: context.detach(wrong),
            lambda: self._tracer.start_span("lost", trace.set_span_in_context(trace.NonRecordingSpan(wrong))),
            lambda: sdk.Span("own", span.get_span_context()),
        )
        draw.choice(mistakes)()

    def _do_read(self, span: trace.Span) -> str:
        found = {name: getattr(span, name, None) for name in _READ}
        context, flags = span.get_span_context(), span.get_span_context().trace_flags
        shown = f"{flags.sampled} {getattr(flags, 'random_trace_id', None)} {context!r} {context.is_remote} {span}"
        items: list[Any] = [
            (each.name, each.timestamp == _TIME, sorted(each.attributes.items(), key=repr), each.dropped_attributes)
            for each in getattr(span, "events", ())
        ]
        items += [
            (each.context, sorted(each.attributes.items(), key=repr), each.dropped_attributes)
            for each in getattr(span, "links", ())
        ]
        status, attributes = getattr(span, "status", None), getattr(span, "attributes", None) or {}
        told = status and (status.status_code, status.description, status.is_ok, status.is_unset)
        times = [getattr(span, name, None) for name in ("start_time", "end_time")]
        set_ = [each if each is None else each in range(_TIME, _TIME + 9) for each in times]
        return f"{found} {shown} {items} {told} {set_} {[(key, attributes[key]) for key in attributes]}"

    def _do_propagate(self, _span: trace.Span) -> str:
        carrier: dict[str, str] = {}
        propagate.inject(carrier, baggage.set_baggage("user", "bob"))
        both = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
        for wrong in _WRONG_PARENTS:
            both.extract({"traceparent": wrong, "tracestate": self._draw.choice(_WRONG_STATES)})
        for carried in (
            {**_PARENT, "tracestate": self._draw.choice(_WRONG_STATES)},
            {"traceparent": _PARENT["traceparent"]},
        ):
            both.extract(carried)
            both.extract({name: [text] for name, text in carried.items()})
        both.extract({})
        found = both.extract({**_PARENT, "traceparent": _PARENT["traceparent"][:-1] + self._draw.choice("10235")})
        with self._tracer.start_as_current_span("of a remote parent", found):
            both.inject(carrier)
        token = context.attach(context.set_value("own", 1, found))
        with self._tracer.start_as_current_span("in a remote context") as inner:
            inner.set_attribute("user", str(baggage.get_baggage("user")))
        context.detach(token)
        return f"{carrier} {sorted(baggage.get_all(found).items())} {trace.get_current_span(found).get_span_context()}"

    def _do_baggage(self, _span: trace.Span) -> str:
        """Baggage that is about as large as it may be: in all, in one entry, and in the number of entries."""
        draw, both = self._draw, W3CBaggagePropagator()
        number, length = (each + draw.randrange(-1, 2) for each in draw.choice(_LARGE_BAGGAGE))
        entries = {f"k{each}": "v" * (length - len(f"k{each}=")) for each in range(number)}
        found, carrier = context.Context(), dict[str, str]()
        for name, each in entries.items():
            found = baggage.set_baggage(name, each, found)
        both.inject(carrier, found)
        header = ",".join(f"{name}={each}" for name, each in entries.items())
        read = baggage.get_all(both.extract({"baggage": header}, context.Context()))
        return f"{number} of {length}: {len(carrier.get('baggage', ''))}, {len(read)}"

    def _do_decorated(self, _span: trace.Span) -> str:
        @self._tracer.start_as_current_span("decorated", **self.start())
        def decorated(number: int) -> int:
            trace.get_current_span().set_attribute("number", number)
            return number

        @self._tracer.start_as_current_span("awaited")
        async def awaited() -> int:
            await asyncio.sleep(0)
            return decorated(2)

        return f"{decorated(1)} {asyncio.run(awaited())} {decorated.__name__}"


_STEP_NAMES: Final = tuple(name[len("_do_") :] for name in vars(_Spans) if name.startswith("_do_"))


def _work_while_off(run: ProgramRun, telemetry: Any, tracer: trace.Tracer) -> None:
    if run.draw.randrange(2):
        telemetry.switch(is_on=False)
        run.attempt(_Spans(run, tracer, run.draw).block)
        telemetry.switch(is_on=True)


def _run_spans(run: ProgramRun) -> None:
    setup = dict(_SETUPS[run.seed % len(_SETUPS)])
    processors = setup.pop("processors", ("batch",))
    is_marked = "marking" in processors
    telemetry = run.telemetry(tuple(name for name in processors if name != "marking"), **setup)
    if is_marked:
        telemetry.tracers.add_span_processor(_Marking())
    tracer = telemetry.tracers.get_tracer("program", "1.0", "https://schema", {"scope": 1})
    for draw in run.halves():
        with telemetry.held():
            for _ in range(4):
                run.attempt(_Spans(run, tracer, draw).block)
            run.attempt(BoundedAttributes, 3, _WRONG_ATTRIBUTES)
            run.attempt(_work_while_off, run, telemetry, tracer)
        for name in ("program", "program", ""):
            with telemetry.tracers.get_tracer(name, "1.0").start_as_current_span("of another tracer"):
                pass
        with tracer.start_as_current_span("exported"):
            run.attempt(telemetry.flush)
    telemetry.tracers.shutdown()
    # What comes too late.
    run.attempt(_Spans(run, tracer, run.draw).block)


def span_programs(first: int, number: int) -> list[Program]:
    """So many programs, from this seed on."""
    return [Program(f"spans {seed}", seed, _run_spans) for seed in range(first, first + number)]
