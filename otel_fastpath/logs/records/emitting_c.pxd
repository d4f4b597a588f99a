# C types for the compiled twin of emitting.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.compiled.sharing_c cimport shared_size
from otel_fastpath.patching.plans_c cimport Plan
from otel_fastpath.logs.records.record_c cimport RecordState
from otel_fastpath.trace.planning.plan_c cimport ProcessorQueue

cdef Py_ssize_t maxsize
cdef dict api_globals
cdef str PLAN
cdef tuple _METHODS
cdef int _PATIENCE
cdef int _OF_AN_EXCEPTION
cdef bint HAS_EXCEPTIONS
cdef bint COPIES
cdef dict LEFT

cdef class Backoff(Plan):
    cdef public int closed
    cpdef close(self)

cdef class LogPlan(Backoff):
    cdef public ProcessorQueue batch
    cdef public Facts facts
    cdef public dict fields
    cdef public bint forwards
    cdef public bint is_quiet
    cdef public object limits
    cdef public Py_ssize_t longest
    cdef public object max_count
    cdef public object max_length
    cdef public object metrics
    cdef public Py_ssize_t most
    cdef public object record_class
    cdef public object scope
    cdef public shared_size size

@cython.locals(plan=LogPlan)
cdef LogPlan plan_of(object logger)

@cython.locals(batch=ProcessorQueue)
cdef bint try_open(LogPlan plan) except -1

cdef bint try_use(LogPlan plan) except -1

cdef bint _look_for_methods(LogPlan plan) except -1

cdef span_context_in(object context)

@cython.locals(batch=ProcessorQueue, record=RecordState)
cdef send(
    LogPlan plan,
    object found,
    object context,
    object timestamp,
    object observed,
    object number,
    object text,
    object body,
    dict attributes,
    object event_name,
    object exception,
)

@cython.locals(kept=dict)
cdef bint try_emit(
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
) except -1

@cython.locals(kept=dict, first=dict, state=int, room=Py_ssize_t)
cdef dict stored_attributes(LogPlan plan, object attributes, object exception)

cdef dict _exception_attributes(LogPlan plan, object exception)
