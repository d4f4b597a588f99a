# C types for the compiled twin of propagation.py.
cdef object Context
cdef object default_getter
cdef object default_setter
cdef object DEFAULT_TRACE_STATE
cdef object NonRecordingSpan
cdef object _Propagator
cdef object Span
cdef object SpanContext
cdef set _span_types
cdef Py_ssize_t _LENGTH
cdef tuple _FLAGS

cpdef traceparent(object span)
cdef object _answering(object getter, object parents, object states)
cdef bint _is_span(object value) except -1
cdef object _span_context(object span)

