# C types for the compiled twin of events.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.patching.plans_c cimport PlannedValues

cdef str _PLACE
cdef str _LOGGERS
cdef Py_ssize_t _MOST_LOGGERS

cdef class StructlogPlan:
    cdef object module
    cdef object name
    cdef dict names
    cdef object logger
    cdef object processor
    cdef Facts facts
    cdef object reserved
    cdef dict levels
    cdef object stack_trace

@cython.locals(attributes=dict, severity=tuple)
cdef bint _try_emit(StructlogPlan stock, object processor, object logger, object method, object event) except -1

@cython.locals(kept=PlannedValues, loggers=dict)
cdef _logger_of(StructlogPlan stock, object processor, object name)
