# C types for the compiled twin of jaeger.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef int _TRACE_LENGTH
cdef int _SPAN_LENGTH
cdef int _FIELDS
cdef Facts _extracting
cdef Facts _injecting

cdef bint _has_baggage(object propagator, object names) except -1
cdef _of(object header, object context)
cdef _written(object propagator, object context)
