# C types for the compiled twin of current_span.py.
from otel_fastpath.compiled.capi cimport COMPILED, c_get, c_set, c_value

cdef object faults
cdef object _context_api
cdef object _trace_api
cdef object INVALID_SPAN
cdef object NonRecordingSpan
cdef object _SPAN_KEY
cdef dict _context_globals
cdef dict _trace_globals
cdef object _runtime
cdef object _variable
cdef object _INTERNAL
cdef object _OF_NO_SPAN
cdef frozenset _WITHOUT_EFFECT

cdef class ProxyScope:
    cdef tuple _args
    cdef tuple _frames
    cdef object _inner
    cdef dict _kwargs
    cdef object _token
    cdef object _tracer
    cdef _enter_no_op(self)

cdef ProxyScope _proxying(ProxyScope scope, object tracer, tuple args, dict kwargs, tuple frames)
