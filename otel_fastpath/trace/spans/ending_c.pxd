# C types for the compiled twin of ending.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.planning.plan_c cimport ProcessorQueue, TracerPlan
from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef dict _sdk_globals
cdef object BATCH
cdef Facts _end_facts
cdef int _BEGUN
cdef int _ENDED
cdef int _MEASURED
cdef int _ANNOUNCED

cdef bint try_end_at_once(SpanState span) except -1

@cython.locals(done=cython.int, sent=cython.int, plan=TracerPlan, ended=SpanState, is_planned=cython.bint)
cdef bint _try_end(SpanState span, object end_time) except -1

cdef bint _try_set_end_time(SpanState span, object now) except -1

@cython.locals(batch=ProcessorQueue)
cdef bint _try_queue(object processor, SpanState span) except -1

@cython.locals(fields=dict, batch=ProcessorQueue)
cpdef ProcessorQueue batch_of(object processor)
