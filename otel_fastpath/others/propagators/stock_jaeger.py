"""What the propagator of Jaeger calls, in whose place this package's methods stand."""

from __future__ import annotations

from typing import Final

from opentelemetry import baggage

from otel_fastpath.others.propagators.propagator_sources import KNOWN
from otel_fastpath.trace.propagation.stock_propagators import (
    GETTING,
    OWN_CONTEXT,
    READ_OF_CONTEXTS,
    READING_ENTRIES,
    READING_SPANS,
    SETTING,
    SETTING_SPANS,
    USING_BAGGAGE,
    WRITING_IDS,
    StockPropagator,
    sources_in,
    trace_in,
)
from otel_fastpath.trace.stock_sources import sources

MODULE: Final = "opentelemetry.propagators.jaeger"
READING: Final = (
    f"{MODULE}:JaegerPropagator._extract_baggage",
    f"{MODULE}:_parse_trace_id_header",
    f"{MODULE}:_extract_first_element",
    f"{MODULE}:_int_from_hex_str",
)
KEYS: Final = "opentelemetry.propagators.textmap:DefaultGetter.keys"
RECORDING: Final = "opentelemetry.trace.span:NonRecordingSpan.is_recording"
WRITING: Final = f"{MODULE}:_format_uber_trace_id"
ALL_BAGGAGE: Final = "opentelemetry.baggage:get_all"
EXTRACTING: Final = StockPropagator(KNOWN.sources(*READING, KEYS) | sources(GETTING) | SETTING_SPANS, trace_in(MODULE))
INJECTING: Final = StockPropagator(
    KNOWN.sources(WRITING, RECORDING)
    | sources(SETTING, OWN_CONTEXT, ALL_BAGGAGE)
    | READING_ENTRIES
    | READING_SPANS
    | sources_in(MODULE, *WRITING_IDS),
    {**trace_in(MODULE), **USING_BAGGAGE, f"{MODULE}:baggage": baggage},
    READ_OF_CONTEXTS,
)
