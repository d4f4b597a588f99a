"""The trace ids in each record of `logging`: the record factory of `LoggingInstrumentor`. Compiled, too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from opentelemetry import trace as _trace_api
from opentelemetry.trace import INVALID_SPAN_CONTEXT

from otel_fastpath.compiled.helpers import item
from otel_fastpath.compiled.traceparent import write_traceparent
from otel_fastpath.logs.records.emitting import span_context_in
from otel_fastpath.patching import faults
from otel_fastpath.patching.swapping.switches import Switch, make_switchable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CellType
    from typing import Any


_LogRecord = logging.LogRecord


def bind_record_factory(
    original: Callable[..., Any], make_record: Callable[..., Any], injects: bool, service: CellType, owner: Any
) -> Callable[..., Any]:
    """Make the replacement for stock's record factory.

    Args:
        original: Stock's.
        make_record: The factory that stock's calls.
        injects: Whether the ids are wanted.
        service: Where stock's keeps the name of the service, or None until it is known.
        owner: The class whose `_log_hook` is called for each record, if it is set.
    """
    switch = Switch()

    def record_factory(*args: Any, **kwargs: Any) -> Any:
        name = None
        try:
            if not switch.inert and owner._log_hook is None:
                name = service.cell_contents if injects else ""
        except Exception as error:
            faults.absorb_any("the log record factory", error)
        if name is None:
            return original(*args, **kwargs)
        record = make_record(*args, **kwargs)
        if injects:
            try:
                _inject(record, name)
            except Exception as error:
                faults.absorb_any("the log record factory", error)
        return record

    return make_switchable(original, record_factory, switch)


def _inject(record: Any, name: str) -> None:
    found: Any = span_context_in(None)
    if found is None:
        found = _trace_api.get_current_span().get_span_context()
    span_id = trace_id = "0"
    sampled = False
    if found is not INVALID_SPAN_CONTEXT:
        trace_number, span_number, flags = item(found, 0), item(found, 1), item(found, 3)
        if trace_number or span_number or found != INVALID_SPAN_CONTEXT:
            header = write_traceparent(trace_number, span_number, flags)
            if header is None:
                trace_id, span_id = format(trace_number, "032x"), format(span_number, "016x")
            else:
                trace_id, span_id = header[3:35], header[36:52]
            sampled = (flags & 1) == 1
    if type(record) is _LogRecord:
        fields = record.__dict__
        fields["otelSpanID"] = span_id
        fields["otelTraceID"] = trace_id
        fields["otelTraceSampled"] = sampled
        fields["otelServiceName"] = name
        return
    record.otelSpanID = span_id
    record.otelTraceID = trace_id
    record.otelTraceSampled = sampled
    record.otelServiceName = name
