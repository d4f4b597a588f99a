# C types for the compiled twin of logger_emit.py.
import cython

from otel_fastpath.logs.records.emitting_c cimport LogPlan

cdef _report(object error)

@cython.locals(plan=LogPlan)
cdef _try_emit(
    object logger,
    object given,
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
