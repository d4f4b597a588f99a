"""What the propagator of AWS X-Ray calls and reads, in whose place this package's methods stand."""

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
    StockPropagator,
    trace_in,
)
from otel_fastpath.trace.stock_sources import sources

MODULE: Final = "opentelemetry.propagators.aws.aws_xray_propagator"
PROPAGATOR: Final = f"{MODULE}:AwsXRayPropagator"
READING: Final = (
    f"{PROPAGATOR}._extract_span_properties",
    f"{PROPAGATOR}._validate_trace_id",
    f"{PROPAGATOR}._parse_trace_id",
    f"{PROPAGATOR}._validate_span_id",
    f"{PROPAGATOR}._parse_span_id",
    f"{PROPAGATOR}._validate_sampled_flag",
    f"{PROPAGATOR}._parse_sampled_flag",
)
NAME: Final = "X-Amzn-Trace-Id"
_VALUES: Final = {f"{MODULE}:TRACE_HEADER_KEY": NAME, **trace_in(MODULE)}
EXTRACTING: Final = StockPropagator(
    KNOWN.sources(*READING) | sources(GETTING) | SETTING_SPANS, _VALUES, READ_OF_CONTEXTS
)
INJECTING: Final = StockPropagator(sources(SETTING, OWN_CONTEXT) | READING_SPANS, _VALUES, READ_OF_CONTEXTS)
