# C types for the compiled twin of _span.py.
import cython

from otel_fastpath.core._attributes_c cimport LEAVE, clean_mapping, frozen, made

from otel_fastpath.core._capi cimport (
    COMPILED,
    c_covers,
    c_is_global,
    c_new_instance,
    c_now,
    c_put,
    c_put_plain,
    c_read,
)
from otel_fastpath.core._identity_c cimport Identity, REPLACED
from otel_fastpath.core._plan_c cimport Batch, Plan, enqueue

cdef object _sdk_trace
cdef object _now
cdef dict _sdk_globals
cdef object Status
cdef object StatusCode
cdef object Lazy
cdef object _OK
cdef object _UNSET_CODE
cdef object _stock_set_attribute
cdef object _stock_set_attributes
cdef object _stock_add_event
cdef object _stock_update_name
cdef object _stock_record_exception
cdef object _stock_set_status
cdef object faults
cdef object snapshot
cdef object _stock_end
cdef Py_ssize_t maxsize

cdef _time()

cdef class EventState:
    cdef public object _name
    cdef public object _timestamp
    cdef public dict attribute_store
    cdef public object bounded_attributes
    cdef public object limits

cdef class SpanState(Identity):
    cdef public object _end_time
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
    cdef public object bounded_events
    cdef public object bounded_links
    cdef public list event_store
    cdef public object lock
    cdef public Plan plan
    @cython.locals(plan=Plan)
    cdef _cleaned(self, object key, object value)
    @cython.locals(event=EventState, events=list, plan=Plan)
    cdef bint _keep_event(self, object name, dict kept, object timestamp) except -1
    @cython.locals(plan=Plan)
    cdef _exception_attributes(self, object exception, object attributes, object escaped, object frames)
    cdef _record(self, object exception, object attributes, object timestamp, object escaped, object frames)
    @cython.locals(batch=Batch, plan=Plan, flags=cython.int)
    cpdef end(self, object end_time=*)

