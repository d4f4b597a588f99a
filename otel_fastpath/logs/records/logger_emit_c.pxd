# C types for the compiled twin of logger_emit.py.
from otel_fastpath.logs.records.emitting_c cimport LogPlan

cdef _report(object error)

cdef _try_given(LogPlan plan, object record)

cdef _try_parts(
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

cdef _forward(object logger, object whole)
