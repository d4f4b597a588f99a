"""The properties of stock's values that stock reads, and the fast paths do not: facts that nobody has replaced them."""

from __future__ import annotations

from typing import Final

from opentelemetry.sdk.trace import ReadableSpan, sampling
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.trace.status import Status

from otel_fastpath.patching.stock import watched
from otel_fastpath.trace.propagation.stock_propagators import READ_OF_CONTEXTS

# At the start of a span, of its parent and of the sampler's decision.
READ_AT_START: Final = (
    *READ_OF_CONTEXTS,
    *watched(Decision, "is_recording", "is_sampled"),
    # What samplers call for the state that a span has from its parent.
    *watched(sampling, "_get_parent_trace_state"),
    # Of the statuses that the span will have.
    *watched(Status, "description", "is_ok", "is_unset", "status_code"),
)
# At the end, for a copy that is read-only.
READ_AT_END: Final = (
    *READ_OF_CONTEXTS,
    *watched(ReadableSpan, "attributes", "context", "end_time", "events"),
    *watched(ReadableSpan, "instrumentation_scope", "kind", "links", "name", "parent", "resource", "start_time"),
    *watched(ReadableSpan, "status"),
)
