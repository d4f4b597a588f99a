# C types for the compiled twin of stock_records.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.logs.records.emitting_c cimport LogPlan

cdef Facts _finding

cdef _span_context(object context)

cdef _fill(
    object record,
    object found,
    object context,
    object timestamp,
    object observed,
    object number,
    object text,
    object body,
    object attributes,
    object event_name,
    object exception,
)

@cython.locals(kept=dict)
cdef made_record(
    LogPlan plan,
    object timestamp,
    object observed,
    object context,
    object number,
    object text,
    object body,
    object attributes,
    object event_name,
    object exception,
)

@cython.locals(kept=dict)
cdef given_record(LogPlan plan, object given)

cdef bound_attributes(LogPlan plan, dict kept)

cdef _whole(LogPlan plan, object record)
