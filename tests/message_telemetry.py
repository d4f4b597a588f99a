"""The spans of messages, and the headers that refer to them, as tests compare them."""

from __future__ import annotations

import re
from contextlib import contextmanager

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class MessageTelemetry:
    """A provider, and what arrived.

    Attributes:
        instrumentors: The classes of the instrumentations.
    """

    instrumentors = ()

    def __init__(self, is_batched=False, **given):
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **given)
        self.tracers.add_span_processor((BatchSpanProcessor if is_batched else SimpleSpanProcessor)(self.spans))

    @contextmanager
    def instrumented(self, tracers=None, **hooks):
        """The libraries are instrumented meanwhile."""
        given = {"tracer_provider": tracers or self.tracers, "skip_dep_check": True, **hooks}
        for kind in self.instrumentors:
            kind().instrument(**given)
        try:
            yield
        finally:
            for kind in self.instrumentors:
                kind().uninstrument()

    def finished(self):
        """The spans that have ended."""
        self.tracers.force_flush()
        return self.spans.get_finished_spans()

    def numbers(self):
        """The number of each span, by its id."""
        return {span.context.span_id: number for number, span in enumerate(self.finished())}

    def shown(self, headers):
        """Headers of messages, with the numbers of spans in the place of their ids."""
        numbers = {f"{own:016x}": f"span {number}" for own, number in self.numbers().items()}
        return re.sub(
            r"\b(?:[0-9a-f]{32}|[0-9a-f]{16})\b",
            lambda found: "trace" if len(found[0]) > 16 else numbers.get(found[0], "elsewhere"),
            str(headers),
        )

    def seen(self):
        """The spans, without ids, times and the frames of stack traces."""
        numbers = self.numbers()
        return [
            (
                span.name,
                span.kind,
                (span.status.status_code, span.status.description),
                list(span.attributes.items()),
                span.dropped_attributes,
                [
                    (event.name, [item for item in event.attributes.items() if item[0] != "exception.stacktrace"])
                    for event in span.events
                ],
                [numbers.get(link.context.span_id, "elsewhere") for link in span.links],
                span.parent and (numbers.get(span.parent.span_id, "elsewhere"), span.parent.is_remote),
                (str(span.instrumentation_scope), dict(span.context.trace_state)),
            )
            for span in self.finished()
        ]
