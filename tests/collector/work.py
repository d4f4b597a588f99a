"""What the service records: operations of ten spans each, with all that spans, metrics and log records can have.

An operation's telemetry follows from its number alone, so that services that do the same operations send the same.
"""

from __future__ import annotations

from opentelemetry import metrics, trace
from opentelemetry._logs import LogRecord, SeverityNumber, get_logger
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

SPANS = 10
# How many operations are different.
KINDS = 40
_KINDS = tuple(SpanKind)
_LINKED = SpanContext(0x1234, 0x5678, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class NoSuchItemError(LookupError):
    """Raised in some operations."""


class Work:
    """The instruments of one process."""

    def __init__(self) -> None:
        self.tracer = trace.get_tracer("shop", "1.2", attributes={"scope.attribute": "yes"})
        self.logger = get_logger("shop", "1.2")
        meter = metrics.get_meter("shop", "1.2")
        self.requests = meter.create_counter("shop.requests", "{request}", "Requests.")
        self.durations = meter.create_histogram("shop.duration", "s", "Durations.")
        self.open = meter.create_up_down_counter("shop.open", "{request}", "Open requests.")
        self.stock = meter.create_gauge("shop.stock", "{item}", "Items that are left.")

    def operation(self, number: int) -> None:
        """One operation: a server span, eight below it, and one that fails."""
        kind = number % KINDS
        route = f"/items/{kind}"
        attributes = {
            "http.route": route,
            "item.number": kind,
            "item.weight": kind / 8,
            "item.is_heavy": kind % 2 == 0,
            "item.names": ("one", "öne", "\N{ELEPHANT}"),
            "item.sizes": [kind, kind + 1],
        }
        self.open.add(1, {"route": route})
        with self.tracer.start_as_current_span(f"GET {route}", kind=SpanKind.SERVER, attributes=attributes) as span:
            for part in range(SPANS - 2):
                self._part(kind, part)
            self._fails(number)
            span.set_status(Status(StatusCode.OK))
            body = {"route": route, "sizes": [1, 2.5, None]} if kind % 2 else f"served {route}"
            record = LogRecord(
                severity_number=SeverityNumber.INFO, body=body, attributes={"item": kind, "number": number}
            )
            self.logger.emit(record)
        self.requests.add(1, {"route": route, "status": 200})
        self.durations.record(kind / 16, {"route": route})
        self.stock.set(100 - kind, {"route": route})
        self.open.add(-1, {"route": route})

    def _part(self, kind: int, part: int) -> None:
        links = [Link(_LINKED, {"link": part})] * (part % 3)
        name, of_kind = f"part {part}", _KINDS[part % len(_KINDS)]
        with self.tracer.start_as_current_span(name, kind=of_kind, links=links) as span:
            span.set_attribute("part", part)
            for number in range(part % 3):
                span.add_event("looked", {"number": number, "found": ["a", "b"]})
            if part == 1:
                span.update_name(f"part one of {kind}")
                span.set_attributes({"text": "x" * kind, "price": 1.5})

    def _fails(self, number: int) -> None:
        kind = number % KINDS
        try:
            with self.tracer.start_as_current_span("look up", kind=SpanKind.CLIENT):
                raise NoSuchItemError(f"no item {kind}")  # noqa: TRY301  # the span records it
        except NoSuchItemError as error:
            if kind == 0:
                severity = SeverityNumber.ERROR
                failed = LogRecord(
                    severity_number=severity, body="failed", exception=error, attributes={"number": -number}
                )
                self.logger.emit(failed)
