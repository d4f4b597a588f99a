# C types for the compiled twin of series.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundCounter, BoundHistogram
from otel_fastpath.patching.plans_c cimport Plan

cdef str PLAN

cdef class RequestLabels:
    cdef public BoundCounter active
    cdef public dict attributes
    cdef public dict counted
    cdef public Py_ssize_t length
    cdef count(self, object number, object place)

cdef class BoundOutcome:
    cdef BoundHistogram _new
    cdef BoundHistogram _old
    cdef public list request_sizes
    cdef public list response_sizes
    cpdef record(self, double seconds, object context)

cdef class ApplicationMetrics(Plan):
    cdef object _active
    cdef tuple _instruments
    cdef dict _labels
    cdef object _new
    cdef object _old
    cdef dict _outcomes
    cdef public bint has_new
    cdef public bint has_old
    cdef public object mode
    @cython.locals(found=RequestLabels)
    cpdef RequestLabels labels(self, object attributes)
    cpdef record(self, RequestLabels labels, double seconds, object context, object code, object error, object target, object route)
    @cython.locals(found=BoundOutcome)
    cpdef BoundOutcome outcome(self, RequestLabels labels, object code, object error, object target, object route)

@cython.locals(plan=ApplicationMetrics)
cpdef plan_of(object owner, object active, object old, object new, object mode)
cpdef keep_plan(object plan, object owner)

cdef list _bound(tuple instruments, tuple attributes)
cpdef dict old_attributes(RequestLabels labels, object code, object target)
cpdef dict new_attributes(RequestLabels labels, object code, object error, object route)
