"""What the propagators of B3 call, in whose place this package's methods stand."""

from __future__ import annotations

from typing import Final

from otel_fastpath.others.propagators.propagator_sources import KNOWN
from otel_fastpath.trace.propagation.stock_propagators import (
    GETTING,
    OWN_CONTEXT,
    READ_OF_CONTEXTS,
    READING_SPANS,
    SETTING,
    SETTING_SPANS,
    WRITING_IDS,
    StockPropagator,
    sources_in,
    trace_in,
)
from otel_fastpath.trace.stock_sources import sources

MODULE: Final = "opentelemetry.propagators.b3"
FIRST: Final = f"{MODULE}:_extract_first_element"
EXTRACTING: Final = StockPropagator(KNOWN.sources(FIRST) | sources(GETTING) | SETTING_SPANS, trace_in(MODULE))
INJECTING: Final = StockPropagator(
    sources(SETTING, OWN_CONTEXT) | READING_SPANS | sources_in(MODULE, *WRITING_IDS), trace_in(MODULE), READ_OF_CONTEXTS
)
