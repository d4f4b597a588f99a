# C types for the compiled twin of jaeger.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef int _TRACE_LENGTH
cdef int _SPAN_LENGTH
cdef int _FIELDS
cdef str _NO_PARENT
cdef Facts _extracting
cdef Facts _injecting

@cython.locals(start=str, text=str)
cdef bint _has_baggage(object propagator, list names) except -1

@cython.locals(text=str, fields=list)
cdef _of(object header, object context)

cdef _written(object propagator, object context)
