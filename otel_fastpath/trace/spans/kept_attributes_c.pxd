# C types for the compiled twin of kept_attributes.py.
import cython

from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef Py_ssize_t _ROOM

@cython.locals(own=SpanState)
cpdef bint keeps_all(object span) except -1

cpdef bint is_silent(object span) except -1
