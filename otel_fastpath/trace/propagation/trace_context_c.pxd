# C types for the compiled twin of trace_context.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef set _span_types
cdef Py_ssize_t _LENGTH
cdef tuple _FLAGS
cdef Facts _extracting
cdef Facts _injecting

cpdef traceparent(object span)
cpdef valid_context(object span)
cpdef context_to_write(object context)
cpdef with_remote(object context, object trace_id, object span_id, int flags)
cpdef remote_span(object header)
cpdef span_of(object trace_id, object span_id, int flags)
cdef _written(object context)
cdef bint _is_span(object value) except -1
