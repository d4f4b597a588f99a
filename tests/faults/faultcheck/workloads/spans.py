"""Spans: their life, what raises inside of them, and decorated functions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from opentelemetry import baggage, trace
from opentelemetry import context as context_api
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.instrumentation import utils
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBasedTraceIdRatio
from opentelemetry.trace import Link, SpanKind, Status, StatusCode

from faultcheck.workloads.base import REMOTE, Workload, remote_context

if TYPE_CHECKING:
    from faultcheck.host import Host

ATTRIBUTES = {"http.request.method": "GET", "server.port": 8000, "ratio": 0.5, "tags": ["a", "b"], "is_new": True}
# No export but when it is asked for.
# Not by the number of spans, either: an interrupted `Event.set()` of the processor's keeps its lock.
_NEVER = {"schedule_delay_millis": 3_600_000, "max_queue_size": 1_000_000, "max_export_batch_size": 1_000_000}


class Spans(Workload):
    """Two batch processors: a span is queued itself."""

    def prepare(self) -> None:
        """Two exporters; and tracers with other samplers."""
        provider = self.telemetry.tracer_provider
        for _ in range(2):
            provider.add_span_processor(BatchSpanProcessor(self.telemetry.exporter(), **_NEVER))
        self.dropping = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
        self.halving = TracerProvider(sampler=ParentBasedTraceIdRatio(1.0), shutdown_on_exit=False)
        self.limited = TracerProvider(
            shutdown_on_exit=False,
            span_limits=SpanLimits(max_span_attributes=3, max_events=2, max_links=1, max_span_attribute_length=5),
        )
        for each in (self.dropping, self.halving, self.limited):
            each.add_span_processor(BatchSpanProcessor(self.telemetry.exporter(), **_NEVER))

    def begin(self) -> None:
        """A tracer of each; nothing is known of them yet but by the first run."""
        self.tracer = self.telemetry.tracer_provider.get_tracer("spans")
        self.others = {
            "dropped": self.dropping.get_tracer("spans"),
            "halved": self.halving.get_tracer("spans"),
            "limited": self.limited.get_tracer("spans"),
        }

    def settle(self) -> None:
        """All providers'."""
        for each in (self.telemetry.tracer_provider, self.dropping, self.halving, self.limited):
            each.force_flush()

    def run(self, host: Host) -> None:
        """Each way to make a span and to use it."""
        host.step("start and end", self._start_and_end)
        host.step("current", self._current)
        host.step("nested", self._nested)
        host.step("changed", self._changed)
        host.step("read", self._read)
        host.step("remote parent", self._below, remote_context())
        host.step("explicit root", self._below, context_api.Context())
        host.step("links", self._links)
        host.step("lazy", self._lazy)
        host.step("not ended by its scope", self._kept_open)
        host.step("a tracer's first span", self._first)
        host.step("tracers by name", self._by_name)
        host.step("contexts", self._contexts)
        host.step("suppressed", self._suppressed)
        host.step("suppressed in a function", utils.suppress_instrumentation()(self._ask))
        for name, tracer in self.others.items():
            host.step(name, self._with, tracer)
            host.step(f"{name}, as a parent", self._parent, tracer)

    def _start_and_end(self) -> Any:
        span = self.tracer.start_span("start and end", attributes=ATTRIBUTES, kind=SpanKind.SERVER)
        span.set_attribute("after", "start")
        span.end()
        return span.is_recording(), span.get_span_context().is_valid

    def _current(self) -> Any:
        with self.tracer.start_as_current_span("current", attributes=ATTRIBUTES) as span:
            return trace.get_current_span() is span

    def _nested(self) -> Any:
        with self.tracer.start_as_current_span("outer") as outer:
            with self.tracer.start_as_current_span("inner") as inner:
                found = inner.parent.span_id == outer.get_span_context().span_id
            span = self.tracer.start_span("used")
            with trace.use_span(span, end_on_exit=True):
                pass
            return found, trace.get_current_span() is outer

    def _changed(self) -> Any:
        with self.tracer.start_as_current_span("changed") as span:
            span.set_attributes(ATTRIBUTES)
            span.set_attribute("mixed", [1, "2", None])
            span.set_attribute("unknown", object)
            span.add_event("happened", {"size": 512, "tags": ("a", "b")})
            span.add_event("happened again")
            span.update_name("changed once")
            span.set_status(StatusCode.ERROR, "described")
            span.set_status(Status(StatusCode.OK))
            return span.is_recording()

    def _read(self) -> Any:
        with self.tracer.start_as_current_span("read", attributes=ATTRIBUTES) as span:
            span.add_event("seen", {"a": 1})
            found = dict(span.attributes), [event.name for event in span.events], span.name, len(span.links)
            span.set_attribute("later", 1)
            span.add_event("later")
        return repr(found), len(span.attributes), len(span.events), span.status.status_code.name, bool(span.to_json())

    def _below(self, parent: Any) -> Any:
        with self.tracer.start_as_current_span("below", context=parent) as span:
            return span.get_span_context().trace_id == REMOTE.trace_id, span.parent is not None

    def _links(self) -> Any:
        span = self.tracer.start_span("linked", links=[Link(REMOTE, {"a": 1})])
        span.add_link(REMOTE, {"b": 2})
        span.end()
        return len(span.links)

    def _lazy(self) -> Any:
        from otel_fastpath.lazy import lazy

        with self.tracer.start_as_current_span("lazy") as span:
            span.set_attribute("made later", lazy(str, 12))
            span.add_event("lazy", {"made later": lazy(str, 13)})
            # That it is `FAILED` where its call fails is what is promised.
            is_there = "made later" in span.attributes and span.attributes["made later"] is not None
            return is_there or not _can_hold_lazy(span)

    def _by_name(self) -> Any:
        provider = self.telemetry.tracer_provider
        first, second = (provider.get_tracer("by name", "1.0"), trace.get_tracer("by name", "1.0", provider))
        with second.start_as_current_span("by name") as span:
            return first is second, provider.get_tracer("by name") is first, span.instrumentation_scope.version

    def _contexts(self) -> Any:
        span = self.tracer.start_span("in a context")
        context = trace.set_span_in_context(span, baggage.set_baggage("user", "ann"))
        token = context_api.attach(context_api.set_value("key", 1, context))
        try:
            found = trace.get_current_span() is span, baggage.get_baggage("user"), dict(baggage.get_all())
            return found, context_api.get_value("key")
        finally:
            context_api.detach(token)
            span.end()

    def _suppressed(self) -> Any:
        with utils.suppress_instrumentation():
            all_of_it = self._ask()
        with utils.suppress_http_instrumentation():
            http = self._ask()
        return all_of_it, http, self._ask()

    @staticmethod
    def _ask() -> Any:
        return utils.is_instrumentation_enabled(), utils.is_http_instrumentation_enabled()

    def _kept_open(self) -> Any:
        with self.tracer.start_as_current_span("kept open", end_on_exit=False) as span:
            pass
        found = span.is_recording()
        span.end()
        return found, span.is_recording()

    def _first(self) -> Any:
        tracer = self.telemetry.tracer_provider.get_tracer("new", "1", attributes={"a": 1})
        with tracer.start_as_current_span("first") as span:
            return span.is_recording()

    def _with(self, tracer: Any) -> Any:
        with tracer.start_as_current_span("other", attributes=ATTRIBUTES, links=[Link(REMOTE), Link(REMOTE)]) as span:
            for number in range(4):
                span.set_attribute(f"number {number}", "a longer text")
                span.add_event("number", {"number": number})
            return span.is_recording(), trace.get_current_span() is span

    def _parent(self, tracer: Any) -> Any:
        with tracer.start_as_current_span("parent"), tracer.start_as_current_span("child") as child:
            return child.is_recording()


class _Text:
    """A value of no attribute's type, as `lazy` returns."""

    def __str__(self) -> str:
        return "text"


def _can_hold_lazy(span: Any) -> bool:
    """Whether a `lazy` value can be an attribute of this span: of ours always.

    A fault can lead to a span of stock's, which takes the text of a value that it does not know. Before 1.43 it
    drops such a value: telemetry that is lost then, and is counted as that.
    """
    return type(span).__module__.startswith("otel_fastpath.") or bool(BoundedAttributes(attributes={"a": _Text()}))


class _Foreign(SpanProcessor):
    """A processor of the host's own, which writes and reads."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002  # stock's name
        """Write."""
        span.set_attribute("started", 1)

    def on_end(self, span: Any) -> None:
        """Read."""
        assert span.attributes is not None


class Processors(Spans):
    """A processor that exports at once, and one of the host's own."""

    def prepare(self) -> None:
        """Beside the tracers of the others."""
        super().prepare()
        self.telemetry.tracer_provider = TracerProvider(shutdown_on_exit=False)
        self.telemetry.tracer_provider.add_span_processor(_Foreign())
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))


class Errors(Spans):
    """What raises inside of spans."""

    def run(self, host: Host) -> None:
        """Each way out of a span that is not its end."""
        host.step("raises", self._raises, host)
        host.step("raises below", self._raises_below, host)
        host.step("recorded", self._recorded, host)
        host.step("used span raises", self._used, host)
        host.step("not recorded", self._not_recorded, host)
        host.step("the interpreter's exit", self._leaves, KeyboardInterrupt)
        host.step("generator's end", self._abandoned)
        for name, tracer in self.others.items():
            host.step(f"{name} raises", self._with_error, tracer, host)

    def _raises(self, host: Host) -> None:
        with self.tracer.start_as_current_span("raises"):
            raise host.error()

    def _raises_below(self, host: Host) -> Any:
        with self.tracer.start_as_current_span("outer") as outer:
            error = host.error()
            try:
                with self.tracer.start_as_current_span("inner"):
                    self._deeper(error)
            except type(error) as caught:
                return caught is error, trace.get_current_span() is outer
        return None

    def _deeper(self, error: BaseException, depth: int = 5) -> None:
        if depth:
            self._deeper(error, depth - 1)
        raise error

    def _recorded(self, host: Host) -> Any:
        with self.tracer.start_as_current_span("recorded") as span:
            try:
                self._deeper(host.error())
            except Exception as error:
                span.record_exception(error, {"a": 1}, timestamp=1)
            span.record_exception(ValueError("never raised"))
        return len(span.events)

    def _used(self, host: Host) -> None:
        with trace.use_span(self.tracer.start_span("used"), end_on_exit=True):
            raise host.error()

    def _not_recorded(self, host: Host) -> None:
        with self.tracer.start_as_current_span("silent", record_exception=False, set_status_on_exception=False):
            raise host.error()

    def _leaves(self, kind: type[BaseException]) -> None:
        with self.tracer.start_as_current_span("leaves"):
            raise kind

    def _abandoned(self) -> Any:
        def generator() -> Any:
            with self.tracer.start_as_current_span("abandoned"):
                yield 1

        running = generator()
        found = next(running)
        running.close()
        return found

    def _with_error(self, tracer: Any, host: Host) -> None:
        with tracer.start_as_current_span("other") as span:
            span.record_exception(ValueError("a longer text"))
            raise host.error()


class Decorators(Spans):
    """Decorated functions, plain and asynchronous."""

    def begin(self) -> None:
        """Decorate."""
        super().begin()
        span = self.tracer.start_as_current_span

        @span("plain")
        def plain(value: int) -> int:
            return value + 1

        @span("raising")
        def raising(error: BaseException) -> None:
            raise error

        @span("coroutine")
        async def coroutine(value: int) -> int:
            await asyncio.sleep(0)
            return value + 1

        @span("raising coroutine")
        async def raising_coroutine(error: BaseException) -> None:
            await asyncio.sleep(0)
            raise error

        self.plain, self.raising, self.coroutine, self.raising_coroutine = plain, raising, coroutine, raising_coroutine

    def run(self, host: Host) -> None:
        """Call them."""
        host.step("plain", self.plain, 1)
        host.step("raising", lambda: self.raising(host.error()))
        host.step("decorated now", self._decorated_now)
        host.step("used as a decorator", self._use_span)

        async def main() -> None:
            await host.astep("coroutine", self.coroutine, 1)
            await host.astep("raising coroutine", self.raising_coroutine, host.error())
            await host.astep("cancelled", self._cancelled)

        asyncio.run(main())

    def _decorated_now(self) -> Any:
        @self.tracer.start_as_current_span("now")
        def function(value: int) -> int:
            return value * 2

        return function(2), function(3), function.__name__

    def _use_span(self) -> Any:
        span = self.tracer.start_span("used")

        @trace.use_span(span, end_on_exit=True)
        def function() -> bool:
            return trace.get_current_span() is span

        return function()

    async def _cancelled(self) -> Any:
        @self.tracer.start_as_current_span("cancelled")
        async def forever() -> None:
            await asyncio.sleep(3600)

        task = asyncio.ensure_future(forever())
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "ended"
