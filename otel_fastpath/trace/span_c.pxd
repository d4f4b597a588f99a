# C types for the compiled twin of span.py.
import cython

from otel_fastpath.trace.events_c cimport EventsState
from otel_fastpath.trace.plan_c cimport Batch, Plan

cdef object _sdk_trace
cdef dict _sdk_globals
cdef object Status
cdef object StatusCode
cdef object Lazy
cdef object _OK
cdef object _UNSET_CODE
cdef object _stock_set_attribute
cdef object _stock_set_attributes
cdef object _stock_update_name
cdef object _stock_set_status
cdef object faults
cdef object _stock_end
cdef bint _LEN_IS_A_CALL
cdef int _BEGUN
cdef int _ENDED
cdef int _MEASURED
cdef int _ANNOUNCED
cdef int _QUEUEING
cdef int _SENT

cdef class SpanState(EventsState):
    cdef public object _instrumentation_scope
    cdef public object _kind
    cdef public object _name
    cdef public object _parent
    cdef public object _record_end_metrics
    cdef public object _record_exception
    cdef public object _resource
    cdef public object _set_status_on_exception
    cdef public object _start_time
    cdef public object _status
    cdef public dict attribute_store
    cdef public object bounded_attributes
    cdef public object bounded_links
    cdef public object lock
    @cython.locals(plan=Plan)
    cdef _cleaned(self, object key, object value)
    cdef _make_room(self)
    cdef bint _put_all(self, dict kept) except -1
    @cython.locals(batch=Batch, done=cython.int, plan=Plan, flags=cython.int)
    cpdef end(self, object end_time=*)

