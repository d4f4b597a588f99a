# C types for the compiled twin of propagation.py.
cdef set _span_types
cdef Py_ssize_t _LENGTH
cdef tuple _FLAGS

cpdef traceparent(object span)
cdef object _answering(object getter, object parents, object states)
cdef bint _is_span(object value) except -1
cdef object _span_context(object span)

