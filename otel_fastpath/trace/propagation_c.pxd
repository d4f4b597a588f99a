# C types for the compiled twin of propagation.py.
from otel_fastpath.compiled.capi cimport COMPILED, c_context_with, c_current, c_new_instance, c_value
from otel_fastpath.compiled.traceparent cimport c_remote_parent, c_traceparent

cdef object Context
cdef object default_getter
cdef object default_setter
cdef object _SPAN_KEY
cdef object DEFAULT_TRACE_STATE
cdef object NonRecordingSpan
cdef object _Propagator
cdef object Span
cdef object SpanContext
cdef object _runtime
cdef object _variable
cdef dict _context_globals
cdef set _span_types
cdef Py_ssize_t _LENGTH
cdef tuple _FLAGS

cdef object _answering(object getter, object parents, object states)
cdef bint _is_span(object value) except -1
cdef _parent(str header)
cdef _with_span(object context, object span)
