"""Does what a program says, the same way whatever is in place."""

from __future__ import annotations

from typing import Any

from opentelemetry import context as context_api
from opentelemetry import trace as trace_api
from opentelemetry.context.context import Context
from opentelemetry.sdk.trace import SpanLimits, sampling
from opentelemetry.trace import (
    INVALID_SPAN,
    Link,
    NonRecordingSpan,
    SpanContext,
    Status,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from sidebyside import errors
from sidebyside.operations import START_ARGUMENTS, Block, Op, Raise, Start
from sidebyside.pokes import NOT_ONCE_ENDED, POKES
from sidebyside.processors import PROCESSORS
from sidebyside.seeing import exported_span, seen_error

_STATE = TraceState([("vendor", "value"), ("other", "1")])
_REMOTE = {
    "remote sampled": SpanContext(0xAB << 64 | 7, 0x12, is_remote=True, trace_flags=TraceFlags(1), trace_state=_STATE),
    "remote not sampled": SpanContext(0xCD << 64 | 8, 0x34, is_remote=True, trace_flags=TraceFlags(0)),
    "remote random": SpanContext(0xEF << 64 | 9, 0x56, is_remote=True, trace_flags=TraceFlags(0xFF)),
    "invalid": SpanContext(0, 0, is_remote=True),
    "invalid with state": SpanContext(0, 0, is_remote=True, trace_state=_STATE),
}


class _Strange(NonRecordingSpan):
    """A span whose context is no SpanContext."""

    def get_span_context(self):
        return "strange"


class _Step:
    """Suspends a coroutine once."""

    def __await__(self):
        yield


class Interpreter:
    """Runs one program in one world."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.spans: list[Any] = []
        self.tracer = world.tracer

    def run(self, program: tuple[Any, ...]) -> None:
        """All of it, whatever is raised."""
        for step in program:
            try:
                self.body((step,))
            except BaseException as error:  # noqa: PERF203  # any exception is a result to compare
                self.world.happened("program", seen_error(error))
        for span in self.spans:
            if hasattr(span, "_readable_span"):
                self.world.happened("at last", exported_span(span))

    def body(self, steps: tuple[Any, ...]) -> None:
        """Step by step."""
        for step in steps:
            self.world.tick()
            if isinstance(step, Block):
                self.block(step)
            elif isinstance(step, Raise):
                errors.RAISERS[step.what]()
            else:
                self.step(step)

    def step(self, op: Op) -> None:
        """One step; what it raises is a result."""
        function = getattr(self, "_do_" + op.do.replace(" ", "_"), self.call)
        self.world.attempt(op.do, lambda: function(op))

    def block(self, block: Block) -> None:
        """Enter, do the steps, leave."""
        state: dict[str, Any] = {"error": None, "entered": False}

        def inside(span: Any) -> None:
            state["entered"] = True
            self.world.told("entered", span)
            try:
                self.body(block.body)
            except BaseException as error:
                state["error"] = error
                raise

        try:
            getattr(self, "_in_" + block.do.replace(" ", "_"))(block, inside)
        except BaseException as error:
            self.world.happened("left with", state["entered"], error is state["error"], seen_error(error))
            # An exception from the SDK's own depths has other frames there: it must not be recorded further out.
            if not block.caught and error is state["error"]:
                raise
        else:
            self.world.happened("left")
        self.world.told("current now", trace_api.get_current_span())

    # What a description stands for.

    def span(self, number: int) -> Any:
        """The span of this number: of those that go on, where there are any; a negative one of all."""
        live = [span for span in self.spans if span.is_recording()] if number >= 0 else []
        spans = live or self.spans
        return spans[number % len(spans)] if spans else INVALID_SPAN

    def span_context(self, described: Any) -> Any:
        """A span's context by number, or one of `_REMOTE`."""
        if isinstance(described, int):
            return self.span(described).get_span_context()
        return _REMOTE.get(described)

    def context(self, described: Any) -> Any:
        """A `Context` as start_span takes it."""
        if described is None:
            return None
        if isinstance(described, int):
            return set_span_in_context(self.span(described))
        if described == "with value":
            return context_api.set_value("some key", "some value")
        made = Context()
        if described in _REMOTE:
            made = set_span_in_context(NonRecordingSpan(_REMOTE[described]), made)
        elif described == "no span":
            made = context_api.set_value(trace_api.propagation._SPAN_KEY, "no span", made)
        elif described == "not a context":
            made = set_span_in_context(_Strange(_REMOTE["invalid"]), made)
        return made

    def link(self, described: Any) -> Any:
        """A link."""
        if not isinstance(described, tuple):
            return described
        return Link(self.span_context(described[0]), described[1])

    def arguments(self, start: Start) -> tuple[list[Any], dict[str, Any]]:
        """Arguments of start_span."""
        made: dict[str, Any] = {"name": start.name, **start.given}
        if "context" in made:
            made["context"] = self.context(made["context"])
        if made.get("links") is not None:
            made["links"] = [self.link(link) for link in made["links"]]
        defaults = (None, None, trace_api.SpanKind.INTERNAL, None, (), None, True, True)
        names = START_ARGUMENTS[: start.positional]
        args = [made.pop(name, default) for name, default in zip(names, defaults, strict=False)]
        return args, made

    # Steps.

    def _do_start_span(self, op: Op) -> Any:
        args, kwargs = self.arguments(op.args[0])
        span = self.tracer.start_span(*args, **kwargs)
        self.spans.append(span)
        return span

    def call(self, op: Op) -> Any:
        """A method of the span."""
        return getattr(self.span(op.span), op.do)(
            *map(self.value, op.args), **{k: self.value(v) for k, v in op.kwargs.items()}
        )

    @staticmethod
    def value(described: Any) -> Any:
        """An argument; most stand for themselves."""
        if isinstance(described, tuple) and described[:1] == ("status",):
            return Status(described[1], described[2])
        return described

    def _do_add_link(self, op: Op) -> Any:
        args = [self.span_context(op.args[0]), *op.args[1:]] if op.args else []
        kwargs = {"context": self.span_context(op.kwargs["context"])} if op.kwargs else {}
        return self.span(op.span).add_link(*args, **kwargs)

    def _do_record_exception(self, op: Op) -> Any:
        def error(what: str) -> Any:
            if what == "text":
                return "not an exception"
            return errors.Own("never raised") if what == "new" else errors.made(what)

        if op.args:
            return self.span(op.span).record_exception(error(op.args[0]), *op.args[1:])
        return self.span(op.span).record_exception(**{**op.kwargs, "exception": error(op.kwargs["exception"])})

    def _do_read(self, op: Op) -> Any:
        value = getattr(self.span(op.span), op.args[0])
        if op.args[0] == "__class__":
            return value.__name__
        return type(value).__name__ if op.args[0] in {"_limits", "_sampler", "_span_processor"} else value

    def _do_processor(self, op: Op) -> None:
        # With several that tell, at once, it is chance who tells first.
        if not self.world.setup.concurrent:
            self.world.provider.add_span_processor(PROCESSORS[op.args[0]](self.world))

    def _do_enabled(self, op: Op) -> None:
        from opentelemetry.sdk.trace import _TracerConfig

        config = _TracerConfig(is_enabled=op.args[0])
        self.world.provider._set_tracer_configurator(tracer_configurator=lambda _: config)

    def _do_get_tracer(self, op: Op) -> None:
        self.tracer = self.world.provider.get_tracer(op.args[0])

    def _do_flush(self, _op: Op) -> Any:
        return self.world.provider.force_flush()

    def _do_shutdown(self, _op: Op) -> None:
        self.world.provider.shutdown()

    def _do_swap_sampler(self, _op: Op) -> None:
        self.tracer.sampler = sampling.TraceIdRatioBased(0.5)

    def _do_swap_limits(self, _op: Op) -> None:
        self.tracer._span_limits = SpanLimits(max_span_attributes=2, max_events=1, max_span_attribute_length=3)

    @staticmethod
    def _do_current(_op: Op) -> Any:
        return trace_api.get_current_span()

    def _do_poke(self, op: Op) -> Any:
        span = self.span(op.span)
        if op.args[0] in NOT_ONCE_ENDED and not span.is_recording():
            return None
        return POKES[op.args[0]](span)

    # Blocks.

    def entered(self, span: Any, inside: Any) -> None:
        """The span of a block can be named by number from now on."""
        self.spans.append(span)
        inside(span)

    def _in_current(self, block: Block, inside: Any) -> None:
        args, kwargs = self.arguments(block.start)
        with self.tracer.start_as_current_span(*args, **kwargs, **block.flags) as span:
            self.entered(span, inside)

    def _in_plain(self, block: Block, inside: Any) -> None:
        args, kwargs = self.arguments(block.start)
        with self.tracer.start_span(*args, **kwargs) as span:
            self.entered(span, inside)

    def _in_use(self, block: Block, inside: Any) -> None:
        with trace_api.use_span(self.span(block.span), **block.flags) as span:
            inside(span)

    def _in_attach(self, block: Block, inside: Any) -> None:
        token = context_api.attach(set_span_in_context(self.span(block.span)))
        try:
            inside(trace_api.get_current_span())
        finally:
            context_api.detach(token)

    def _in_decorated(self, block: Block, inside: Any) -> None:
        args, kwargs = self.arguments(block.start)

        @self.tracer.start_as_current_span(*args, **kwargs, **block.flags)
        def decorated(value: int, *, more: int) -> int:
            self.entered(trace_api.get_current_span(), inside)
            return value + more

        self.world.told("decorated", decorated.__name__, decorated(1, more=2))

    def _in_decorated_use(self, block: Block, inside: Any) -> None:
        @trace_api.use_span(self.span(block.span), **block.flags)
        def decorated() -> None:
            inside(trace_api.get_current_span())

        decorated()

    def _in_decorated_async(self, block: Block, inside: Any) -> None:
        args, kwargs = self.arguments(block.start)

        @self.tracer.start_as_current_span(*args, **kwargs, **block.flags)
        async def decorated() -> str:
            await _Step()
            self.entered(trace_api.get_current_span(), inside)
            return "done"

        coroutine = decorated()
        try:
            coroutine.send(None)
            self.world.tick()
            coroutine.send(None)
        except StopIteration as done:
            self.world.told("awaited", done.value)

    def _in_generator(self, block: Block, inside: Any) -> None:
        args, kwargs = self.arguments(block.start)

        def generate() -> Any:
            with self.tracer.start_as_current_span(*args, **kwargs, **block.flags) as span:
                yield span

        generator = generate()
        try:
            self.entered(next(generator), inside)
        except Exception as error:  # thrown back in, as a framework does
            generator.throw(error)
        finally:
            generator.close()
