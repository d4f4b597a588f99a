"""The operations of OpenTelemetry itself: spans, measurements, headers, encoding, log records."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.bench.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTES: Final[dict[str, str | int]] = {
    "http.request.method": "GET",
    "url.scheme": "http",
    "server.address": "localhost",
    "server.port": 8000,
    "http.route": "/items/{item_id}",
    "http.response.status_code": 200,
    "network.protocol.version": "1.1",
}
_FEW: Final = {"http.request.method": "GET", "http.route": "/items/{item_id}", "http.response.status_code": 200}


def _tracer() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # not in the bare leg

    yield trace.get_tracer("otel-fastpath bench")


def _span(tracer: Any) -> None:
    with tracer.start_as_current_span("GET /items/{item_id}"):
        pass


def _span_with_attributes(tracer: Any) -> None:
    with tracer.start_as_current_span("GET /items/{item_id}", attributes=_ATTRIBUTES):
        pass


def _exception() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # not in the bare leg

    def fall(depth: int) -> None:
        if depth:
            fall(depth - 1)
        raise ValueError("no such item")

    try:
        fall(5)
    except ValueError as error:
        yield trace.get_tracer("otel-fastpath bench"), error


def _record_exception(given: Any) -> None:
    tracer, error = given
    span = tracer.start_span("failed")
    span.record_exception(error)
    span.end()


def _counter() -> Iterator[Any]:
    from opentelemetry import metrics  # noqa: PLC0415  # not in the bare leg

    yield metrics.get_meter("otel-fastpath bench").create_counter("requests")


def _add(counter: Any) -> None:
    counter.add(1, _FEW)


def _histogram() -> Iterator[Any]:
    from opentelemetry import metrics  # noqa: PLC0415  # not in the bare leg

    yield metrics.get_meter("otel-fastpath bench").create_histogram("duration", unit="s")


def _record(histogram: Any) -> None:
    histogram.record(0.0173, _FEW)


def _headers() -> Iterator[Any]:
    from opentelemetry import propagate, trace  # noqa: PLC0415  # not in the bare leg

    with trace.get_tracer("otel-fastpath bench").start_as_current_span("caller"):
        yield propagate


def _propagate(propagate: Any) -> None:
    headers: dict[str, str] = {}
    propagate.inject(headers)
    propagate.extract(headers)


def _spans_to_encode() -> Iterator[Any]:
    from opentelemetry import trace  # noqa: PLC0415  # not in the bare leg
    from opentelemetry.exporter.otlp.proto.http import trace_exporter  # noqa: PLC0415  # likewise

    span = trace.get_tracer("otel-fastpath bench").start_span("GET /items/{item_id}", attributes=_ATTRIBUTES)
    span.end()
    yield trace_exporter, [span]


def _encode(given: Any) -> None:
    exporter, spans = given
    exporter.encode_spans(spans).SerializePartialToString()


def _logger() -> Iterator[Any]:
    logger = logging.getLogger("otel-fastpath bench")
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield logger, handler.stream
    logger.removeHandler(handler)


def _log(given: Any) -> None:
    logger, stream = given
    logger.info("item %s was bought", 4711)
    stream.seek(0)
    stream.truncate()


TELEMETRY: Final = (
    Probe("span", _span, _tracer, only_telemetry=True),
    Probe("span, 7 attributes", _span_with_attributes, _tracer, only_telemetry=True),
    Probe("span with an exception, 6 frames", _record_exception, _exception, only_telemetry=True),
    Probe("counter.add, 3 attributes", _add, _counter, only_telemetry=True),
    Probe("histogram.record, 3 attributes", _record, _histogram, only_telemetry=True),
    Probe("inject and extract headers", _propagate, _headers, only_telemetry=True),
    Probe(
        "OTLP encoding of a span",
        _encode,
        _spans_to_encode,
        needs=("opentelemetry.exporter.otlp.proto.http",),
        only_telemetry=True,
    ),
    Probe("logging.info", _log, _logger, instrumentations=("logging",)),
)
