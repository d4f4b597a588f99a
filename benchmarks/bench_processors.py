"""A span in providers as services have them: other processors, samplers and id generators beside the batch processor.

    python benchmarks/bench_processors.py           the table: stock, pure and compiled core

Each row is a set-up of its own; the span is a root span as the current one, without attributes.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bench_span import Drop, keep_small, nothing
from opentelemetry import baggage
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, Sampler, SamplingResult
from setups import instrument

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Tracer


class Idle(SpanProcessor):
    """Inherits all of its methods."""


class Marking(SpanProcessor):
    """Sets an attribute at the start of a span, and reads it at the end."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:  # noqa: ARG002  # the interface
        """Set it."""
        span.set_attribute("tenant", "a")

    def on_end(self, span: Any) -> None:
        """Read it."""
        span.attributes.get("tenant")


class Baggage(SpanProcessor):
    """Copies the baggage, as `opentelemetry-processor-baggage` does."""

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Set an attribute for each entry."""
        for key, value in baggage.get_all(parent_context).items():
            span.set_attribute(key, value)


class Inheriting(BatchSpanProcessor):
    """A subclass without methods of its own."""


class Filtering(BatchSpanProcessor):
    """Leaves health checks out."""

    def on_end(self, span: Any) -> None:
        """Queue all others."""
        if span.name != "GET /healthz":
            super().on_end(span)


class OwnSampler(Sampler):
    """Samples everything."""

    def should_sample(  # the interface
        self,
        parent_context: Any,  # noqa: ARG002  # likewise
        trace_id: int,  # noqa: ARG002  # likewise
        name: str,  # noqa: ARG002  # likewise
        kind: Any = None,  # noqa: ARG002  # likewise
        attributes: Any = None,
        links: Any = None,  # noqa: ARG002  # likewise
        trace_state: Any = None,  # noqa: ARG002  # likewise
    ) -> SamplingResult:
        """Decide."""
        return SamplingResult(Decision.RECORD_AND_SAMPLE, attributes)

    def get_description(self) -> str:
        """Its name."""
        return "OwnSampler"


class OwnIds(RandomIdGenerator):
    """Marks the ids of this service."""

    def generate_trace_id(self) -> int:
        """An id that ends in 1."""
        return super().generate_trace_id() | 1


def batching(kind: Callable[..., BatchSpanProcessor] = BatchSpanProcessor) -> BatchSpanProcessor:
    """A batch processor of this class whose thread never wakes."""
    made = kind(Drop(), max_queue_size=1 << 20, max_export_batch_size=1 << 20, schedule_delay_millis=3.6e6)
    keep_small(made)
    return made


def provider(*processors: SpanProcessor, **parts: Any) -> Tracer:
    """A tracer of a provider with these processors and parts."""
    made = TracerProvider(**parts)
    for processor in processors:
        made.add_span_processor(processor)
    return made.get_tracer("bench")


def hooked() -> BatchSpanProcessor:
    """A batch processor with an `on_start` of its own, as some vendors set it."""
    made = batching()
    made.on_start = lambda span, parent_context=None: None  # type: ignore[method-assign]  # noqa: ARG005  # the interface
    return made


# Row of the table -> the tracer.
TRACERS: dict[str, Callable[[], Tracer]] = {
    "an idle processor": lambda: provider(batching(), Idle()),
    "a processor with attributes": lambda: provider(Marking(), batching()),
    "a subclass of BatchSpanProcessor": lambda: provider(batching(Inheriting)),
    "a batch processor that filters": lambda: provider(batching(Filtering)),
    "SimpleSpanProcessor": lambda: provider(SimpleSpanProcessor(Drop()), batching()),
    "a baggage processor": lambda: provider(Baggage(), batching()),
    "on_start set on an instance": lambda: provider(hooked()),
    "a custom sampler": lambda: provider(batching(), sampler=OwnSampler()),
    "ParentBased(custom sampler)": lambda: provider(batching(), sampler=ParentBased(OwnSampler())),
    "a custom id generator": lambda: provider(batching(), id_generator=OwnIds()),
}


def stock() -> dict[str, Tracer]:
    """Unpatched OpenTelemetry."""
    return {name: make() for name, make in TRACERS.items()}


def pure() -> dict[str, Tracer]:
    """otel-fastpath with the pure core."""
    instrument("py")
    return stock()


def compiled() -> dict[str, Tracer]:
    """otel-fastpath with the compiled core."""
    instrument("c")
    return stock()


def beside_idle(given: dict[str, Tracer]) -> None:
    """The row "an idle processor"."""
    with given["an idle processor"].start_as_current_span("GET /items/{item_id}"):
        pass


def beside_marking(given: dict[str, Tracer]) -> None:
    """The row "a processor with attributes"."""
    with given["a processor with attributes"].start_as_current_span("GET /items/{item_id}"):
        pass


def with_subclass(given: dict[str, Tracer]) -> None:
    """The row "a subclass of BatchSpanProcessor"."""
    with given["a subclass of BatchSpanProcessor"].start_as_current_span("GET /items/{item_id}"):
        pass


def with_filter(given: dict[str, Tracer]) -> None:
    """The row "a batch processor that filters"."""
    with given["a batch processor that filters"].start_as_current_span("GET /items/{item_id}"):
        pass


def beside_simple(given: dict[str, Tracer]) -> None:
    """The row "SimpleSpanProcessor"."""
    with given["SimpleSpanProcessor"].start_as_current_span("GET /items/{item_id}"):
        pass


def beside_baggage(given: dict[str, Tracer]) -> None:
    """The row "a baggage processor"."""
    with given["a baggage processor"].start_as_current_span("GET /items/{item_id}"):
        pass


def with_hook(given: dict[str, Tracer]) -> None:
    """The row "on_start set on an instance"."""
    with given["on_start set on an instance"].start_as_current_span("GET /items/{item_id}"):
        pass


def own_sampler(given: dict[str, Tracer]) -> None:
    """The row "a custom sampler"."""
    with given["a custom sampler"].start_as_current_span("GET /items/{item_id}"):
        pass


def below_parent_based(given: dict[str, Tracer]) -> None:
    """The row "ParentBased(custom sampler)"."""
    with given["ParentBased(custom sampler)"].start_as_current_span("GET /items/{item_id}"):
        pass


def own_ids(given: dict[str, Tracer]) -> None:
    """The row "a custom id generator"."""
    with given["a custom id generator"].start_as_current_span("GET /items/{item_id}"):
        pass


# Row of the table -> bare and instrumented.
ROWS = {
    "an idle processor": (nothing, beside_idle),
    "a processor with attributes": (nothing, beside_marking),
    "a subclass of BatchSpanProcessor": (nothing, with_subclass),
    "a batch processor that filters": (nothing, with_filter),
    "SimpleSpanProcessor": (nothing, beside_simple),
    "a baggage processor": (nothing, beside_baggage),
    "on_start set on an instance": (nothing, with_hook),
    "a custom sampler": (nothing, own_sampler),
    "ParentBased(custom sampler)": (nothing, below_parent_based),
    "a custom id generator": (nothing, own_ids),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("A span, and what services add", "bench_processors", ROWS, ("stock", "pure", "compiled")))
