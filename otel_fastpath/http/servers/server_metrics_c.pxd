# C types for the compiled twin of series.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundCounter, BoundHistogram

cdef object bind
cdef object _StabilityMode
cdef object _filter_semconv_active_request_count_attr
cdef object _filter_semconv_duration_attrs
cdef object _server_active_requests_count_attrs_new
cdef object _server_active_requests_count_attrs_old
cdef object _OLD
cdef object _NEW
cdef object _ALL
cdef object HTTP_ROUTE
cdef object HTTP_STATUS_CODE
cdef object HTTP_TARGET
cdef object ERROR_TYPE
cdef object HTTP_RESPONSE_STATUS_CODE
cdef object LONGEST
cdef object MOST_LABELS
cdef object keep
cdef object faults

cdef class RequestLabels:
    cdef public BoundCounter active
    cdef public dict attributes
    cdef public dict counted
    cdef public Py_ssize_t length
    cdef count(self, object number, object place)

cdef class BoundDurations:
    cdef public BoundHistogram old
    cdef public BoundHistogram new

cdef class ApplicationMetrics:
    cdef object _active
    cdef dict _durations
    cdef dict _labels
    cdef object _mode
    cdef object _new
    cdef object _old
    cpdef bint is_of(self, object active, object old, object new, object mode) except -1
    @cython.locals(found=RequestLabels)
    cpdef RequestLabels labels(self, object attributes)
    @cython.locals(found=BoundDurations)
    cpdef record(self, RequestLabels labels, object seconds, object context, object code, object error, object target, object route)
    @cython.locals(labels=RequestLabels, found=BoundDurations)
    cdef BoundDurations _bound(self, tuple key)

cpdef dict old_attributes(RequestLabels labels, object code, object target)
cpdef dict new_attributes(RequestLabels labels, object code, object error, object route)
