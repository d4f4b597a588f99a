# C types for the compiled twin of events.py.
import cython

from otel_fastpath.trace.identity_c cimport Identity
from otel_fastpath.trace.plan_c cimport Plan

cdef object _sdk_trace
cdef dict _sdk_globals
cdef object _stock_add_event
cdef object _stock_record_exception
cdef object faults
cdef bint _LEN_IS_A_CALL
cdef object snapshot
cdef Py_ssize_t maxsize

cdef class EventState:
    cdef public object _name
    cdef public object _timestamp
    cdef public dict attribute_store
    cdef public object bounded_attributes
    cdef public object limits

cdef class EventsState(Identity):
    cdef public object _end_time
    cdef public object bounded_events
    cdef public list event_store
    cdef public Plan plan
    @cython.locals(event=EventState, events=list, plan=Plan)
    cdef bint _keep_event(self, object name, dict kept, object timestamp) except -1
    @cython.locals(plan=Plan)
    cdef _exception_attributes(self, object exception, object attributes, object escaped, object frames)
