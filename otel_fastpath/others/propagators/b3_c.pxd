# C types for the compiled twin of b3.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef int _TRACE_LENGTH
cdef int _SPAN_LENGTH
cdef Facts _extracting
cdef Facts _injecting

cdef bint _can_read(object propagator) except -1
cdef _of_dict(object propagator, dict carrier, object context)
cdef _of_single(object propagator, str header, object context)
cdef _of(object propagator, object trace_text, object span_text, object sampled, object flags, object context)
cdef _of_carrier(object propagator, object carrier, object context, object getter, dict values)
cdef tuple _written(object context)
