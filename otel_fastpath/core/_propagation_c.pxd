# C types for the compiled twin of _propagation.py.
import cython

from otel_fastpath.core._capi cimport (
    COMPILED,
    c_context_with,
    c_current,
    c_formatted,
    c_new_instance,
    c_parsed,
    c_remote_span_context,
)

cdef object Context
cdef object default_getter
cdef object default_setter
cdef object _SPAN_KEY
cdef object DEFAULT_TRACE_STATE
cdef object NonRecordingSpan
cdef object Span
cdef object SpanContext
cdef object _runtime
cdef object _variable
cdef dict _context_globals
cdef object _match
cdef set _span_types
cdef tuple _FLAGS

@cython.locals(parsed=tuple)
cpdef extract(object carrier, object context, object getter)
cpdef inject(object carrier, object context, object setter)
