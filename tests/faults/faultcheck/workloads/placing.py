"""Putting the package in place and taking it off, in a process in which it never was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host


class SetUp(Workload):
    """`instrument()` and `uninstrument()`, and a few calls in between."""

    instruments_itself = True
    is_the_same_with_each_core = True
    settings = {"exceptions": "raised,python", "asyncpg_options": "rows", "disabled": "no.such.patch"}

    def prepare(self) -> None:
        """Both kinds of processors."""
        provider = self.telemetry.tracer_provider
        provider.add_span_processor(BatchSpanProcessor(self.telemetry.exporter(), schedule_delay_millis=3_600_000))
        provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.tracer = provider.get_tracer("set-up")
        self.counter = self.telemetry.meter_provider.get_meter("set-up").create_counter("counter")

    def run(self, host: Host) -> None:
        """On and off again; what fails the first time must not stand in the way of the next."""
        from otel_fastpath.instrumentor import FastpathInstrumentor

        host.step("instrument", self.instrument)
        host.step("used", self._use)
        host.step("uninstrument", FastpathInstrumentor().uninstrument)
        host.step("as it was", self._use)

    def _use(self) -> Any:
        self.counter.add(1, {"a": 1})
        with self.tracer.start_as_current_span("set-up", attributes={"a": 1}) as span:
            span.add_event("event")
            return span.is_recording()
