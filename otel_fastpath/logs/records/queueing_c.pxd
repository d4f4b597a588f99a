# C types for the compiled twin of queueing.py.
import cython

from otel_fastpath.logs.records.emitting_c cimport LogPlan
from otel_fastpath.logs.records.record_c cimport RecordState
from otel_fastpath.trace.planning.plan_c cimport ProcessorQueue

cdef int _FIELDS

@cython.locals(batch=ProcessorQueue, fields=dict, record=RecordState)
cdef bint _try_queue(object processor, object whole) except -1

@cython.locals(batch=ProcessorQueue, fields=dict, kept=dict, record=RecordState)
cdef bint try_emit_given(LogPlan plan, object given) except -1

@cython.locals(record=RecordState)
cdef RecordState _copy(dict fields)
