# C types for the compiled twin of recorded.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.spans.identity_c cimport Dropped, Identity
from otel_fastpath.trace.planning.plan_c cimport TracerPlan

cdef Facts _showing
cdef Py_ssize_t _ROOM

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
    cdef public tuple link_store
    cdef public object lock
    cdef public SpanState origin
    cdef public TracerPlan plan

@cython.locals(copy=SpanState)
cpdef SpanState read_only_copy(SpanState span, object kind)

cpdef share_containers(SpanState span)

cdef _share(SpanState copy, SpanState origin)

cdef _bounded_attributes(SpanState span, dict store)

cdef _bounded_events(SpanState span, list store)

cdef _bounded_links(SpanState span)

cdef dict _final_store(SpanState span)

cpdef dict copied_attributes(SpanState span)

cpdef tuple copied_events(SpanState span)

cpdef stored_attribute(SpanState span, object key)

@cython.locals(store=dict)
cpdef replace_attribute(SpanState span, object key, object value, object made)

cpdef publish_attributes(SpanState span, object bounded, bint is_filled)

cpdef attributes_of(SpanState span)

@cython.locals(store=dict)
cdef _shown(SpanState span)

@cython.locals(own=SpanState)
cpdef bint keeps_all(object span) except -1

cpdef bint is_silent(object span) except -1
