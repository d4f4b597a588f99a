"""Span processors of every kind: stock's own, watching ones, and those that change or break what they are given."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult

from sidebyside.seeing import exported_span, seen, span_fields


class Keeping(SpanExporter):
    """Keeps what an exporter can read of the spans, as of the moment of export."""

    def __init__(self, *, fails: bool = False) -> None:
        self.exported: list[Any] = []
        self._fails = fails

    def export(self, spans):  # noqa: D102  # stock's interface
        self.exported.extend(exported_span(span) for span in spans)
        if self._fails:
            raise ConnectionError("nobody there")
        return SpanExportResult.SUCCESS


class Watching(SpanProcessor):
    """Tells of each call, and reads of the span as much as its depth says: nothing, public fields, private ones."""

    def __init__(self, world: Any, depth: str) -> None:
        self._world = world
        self._depth = depth

    def _look(self, method: str, span: Any, *more: Any) -> None:
        fields: Any = ()
        if self._depth != "light":
            fields = span_fields(span, private=self._depth == "private")
        self._world.happened(self._depth, method, seen(span), fields, *more)

    def on_start(self, span, parent_context=None):  # noqa: D102  # stock's interface
        self._look("on_start", span, seen(parent_context))

    def _on_ending(self, span):
        self._look("_on_ending", span)

    def on_end(self, span):  # noqa: D102  # stock's interface
        # What every processor is given here is a read-only span.
        self._look("on_end", span, exported_span(span) if self._depth == "private" else ())

    def shutdown(self):  # noqa: D102  # stock's interface
        self._world.happened(self._depth, "shutdown")

    def force_flush(self, timeout_millis=30000):  # noqa: D102  # stock's interface
        self._world.happened(self._depth, "force_flush", timeout_millis)
        return True


class Mutating(SpanProcessor):
    """Sets attributes when a span starts, and does the well-known forbidden thing when it ends."""

    def on_start(self, span, parent_context=None):  # noqa: ARG002, D102  # stock's interface
        span.set_attribute("mutated.start", value=True)
        span.set_attributes({"mutated.several": ("x", "y")})
        span.update_name(f"{span.name}!")

    def on_end(self, span):  # noqa: D102  # stock's interface
        attributes = span._attributes
        attributes._dict["mutated.end"] = "yes"
        attributes._dict.pop("a", None)
        span._name = span._name.upper()


class Replacing(SpanProcessor):
    """Replaces whole containers of the spans that end."""

    def on_end(self, span):  # noqa: D102  # stock's interface
        span._attributes = {"replaced": "all", **dict(span.attributes)}
        span._events = list(span.events)[:1]


class Late(SpanProcessor):
    """Changes a span while it is ending, which stock refuses with a warning."""

    def _on_ending(self, span):
        span.set_attribute("late", 1)
        span.add_event("late")
        span.update_name("late")
        span.end()


class Failing(SpanProcessor):
    """Raises in one of its methods."""

    def __init__(self, method: str) -> None:
        setattr(self, method, self._fail)

    @staticmethod
    def _fail(*_args, **_kwargs):
        raise ArithmeticError("the processor failed")


class Filtering(BatchSpanProcessor):
    """A batch processor that looks at what it queues."""

    def on_end(self, span):  # noqa: D102  # stock's interface
        if span.name != "b":
            super().on_end(span)


def _batch(kind: type[BatchSpanProcessor], world: Any) -> Any:
    # It exports when it is flushed and not before, so that two runs export alike.
    exporter = world.keep(Keeping())
    return kind(exporter, max_queue_size=2048, schedule_delay_millis=3_600_000, max_export_batch_size=512)


PROCESSORS: dict[str, Any] = {
    "batch": lambda world: _batch(BatchSpanProcessor, world),
    "filtering": lambda world: _batch(Filtering, world),
    "simple": lambda world: SimpleSpanProcessor(world.keep(Keeping())),
    "simple failing": lambda world: SimpleSpanProcessor(world.keep(Keeping(fails=True))),
    "light": lambda world: Watching(world, "light"),
    "public": lambda world: Watching(world, "public"),
    "private": lambda world: Watching(world, "private"),
    "mutating": lambda _: Mutating(),
    "replacing": lambda _: Replacing(),
    "late": lambda _: Late(),
    "fails on_start": lambda _: Failing("on_start"),
    "fails _on_ending": lambda _: Failing("_on_ending"),
    "fails on_end": lambda _: Failing("on_end"),
}
