"""Exporting spans as the HTTP exporter does: encoding a hundred more spans or a batch of one, and sending it.

    python benchmarks/bench_otlp.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only otlp

A row's bare callable encodes ten spans, the instrumented one 110. The set-ups are `stock`, `pure` and `compiled`; each
encodes the spans that it records itself.
"""

from __future__ import annotations

import sys
from itertools import cycle
from typing import Any

from opentelemetry.exporter.http.transport._requests import RequestsHTTPTransport
from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc_exporter
from opentelemetry.exporter.otlp.proto.http import trace_exporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from requests import Response
from requests.adapters import BaseAdapter
from setups import ATTRIBUTES, EVENT, ways

FEW, MORE = 10, 110
# More texts than the pure encoder keeps.
DIFFERENT = 4096


class Keep(SpanExporter):
    """Keeps the spans that it receives."""

    def __init__(self) -> None:
        self.spans: list[Any] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Keep the spans."""
        self.spans += spans
        return SpanExportResult.SUCCESS


class Answer(BaseAdapter):
    """Replaces the network below the session of an exporter."""

    def send(self, _request: Any, **_: Any) -> Response:  # type: ignore[override]
        """Success at once."""
        response = Response()
        response.status_code = 200
        return response

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class Given:
    """The objects that the callables of this file use: batches by name, each a list of 110 spans."""

    def __init__(self) -> None:
        plain = [ATTRIBUTES] * MORE
        long = [{**ATTRIBUTES, "url.query": "q=" + "x" * 500}] * MORE
        different = [{**ATTRIBUTES, "url.path": f"/items/{n}", "user.id": f"user-{n}"} for n in range(DIFFERENT)]
        self.without = recorded([None] * MORE)
        self.plain = recorded(plain)
        self.long = recorded(long)
        self.events = recorded(plain, events=2)
        self.scopes = recorded(plain, scopes=3)
        spans = recorded(different)
        self.transport = RequestsHTTPTransport()
        self.transport._session.mount("http://", Answer())
        # Reading variables takes longer in a larger environment.
        self.transport._session.trust_env = False
        self.different = cycle([spans[at : at + MORE] for at in range(0, len(spans) - MORE, MORE)])


def recorded(attributes: list[Any], *, events: int = 0, scopes: int = 1) -> list[Any]:
    """Make ended spans with these attributes, from this number of tracers in turn."""
    keep = Keep()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(keep, max_queue_size=DIFFERENT))
    tracers = [provider.get_tracer(f"bench.{index}") for index in range(scopes)]
    for index, each in enumerate(attributes):
        span = tracers[index % scopes].start_span("GET /items/{item_id}", attributes=each)
        for _ in range(events):
            span.add_event("cache", EVENT)
        span.end()
    provider.shutdown()
    return keep.spans


stock, pure, compiled = ways(Given)


def encode(spans: list[Any]) -> bytes:
    """What the exporter does with a batch."""
    return trace_exporter.encode_spans(spans).SerializePartialToString()


def nothing(given: Given) -> None:
    """The bare call of scenarios that consist of telemetry only."""


def one(given: Given) -> None:
    """A batch of one span, with the work that is done once per batch."""
    encode(given.plain[:1])


HEADERS = {"content-type": "application/x-protobuf", "user-agent": "OTel-OTLP-Exporter-Python"}


def send(given: Given) -> None:
    """Sending, above the connection."""
    given.transport.request("POST", "http://localhost:4318/v1/traces", headers=HEADERS, data=b"spans", timeout=10)


def without_10(given: Given) -> None:
    """Ten spans without attributes."""
    encode(given.without[:FEW])


def without_110(given: Given) -> None:
    """A hundred more."""
    encode(given.without)


def plain_10(given: Given) -> None:
    """Ten spans with seven attributes each."""
    encode(given.plain[:FEW])


def plain_110(given: Given) -> None:
    """A hundred more."""
    encode(given.plain)


def plain_11(given: Given) -> None:
    """One more: what budgets hold."""
    encode(given.plain[: FEW + 1])


def grpc_10(given: Given) -> None:
    """Ten spans, as the message that gRPC sends."""
    grpc_exporter.encode_spans(given.plain[:FEW]).SerializePartialToString()


def grpc_11(given: Given) -> None:
    """One more: what budgets hold."""
    grpc_exporter.encode_spans(given.plain[: FEW + 1]).SerializePartialToString()


def long_10(given: Given) -> None:
    """Ten spans with an additional text of 500 characters."""
    encode(given.long[:FEW])


def long_110(given: Given) -> None:
    """A hundred more."""
    encode(given.long)


def events_10(given: Given) -> None:
    """Ten spans with two additional events of three attributes."""
    encode(given.events[:FEW])


def events_110(given: Given) -> None:
    """A hundred more."""
    encode(given.events)


def events_11(given: Given) -> None:
    """Eleven of these spans, which is what budgets limit."""
    encode(given.events[: FEW + 1])


def scopes_10(given: Given) -> None:
    """Ten spans of three tracers in turn."""
    encode(given.scopes[:FEW])


def scopes_110(given: Given) -> None:
    """A hundred more."""
    encode(given.scopes)


def different_10(given: Given) -> None:
    """Ten spans with nine attributes, two of which have values that were not seen recently."""
    encode(next(given.different)[:FEW])


def different_110(given: Given) -> None:
    """A hundred more."""
    encode(next(given.different))


# Row of the table -> bare and instrumented.
ROWS = {
    "100 spans more, no attributes": (without_10, without_110),
    "100 spans more, 7 attributes": (plain_10, plain_110),
    "same, of 3 tracers in turn": (scopes_10, scopes_110),
    "same, and 2 values that are new": (different_10, different_110),
    "same, and a text of 500 characters": (long_10, long_110),
    "same, and 2 events of 3 attributes": (events_10, events_110),
    "a batch of one span, 7 attributes": (nothing, one),
    "sending a batch over HTTP, above the connection": (nothing, send),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Encoding spans to OTLP", "bench_otlp", ROWS, ("stock", "pure", "compiled")))
