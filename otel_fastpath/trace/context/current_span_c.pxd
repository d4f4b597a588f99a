# C types for the compiled twin of current_span.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _trace_globals
cdef frozenset _WITHOUT_EFFECT
cdef Facts _using
cdef Facts _no_op
cdef Facts _below_proxy

cdef bint is_known_use_span(object stock) except -1

cdef class ProxyScope:
    cdef tuple _args
    cdef tuple _frames
    cdef object _inner
    cdef dict _kwargs
    cdef object _token
    cdef object _tracer
    cdef _enter_no_op(self)

cdef class OpenProxyScope(ProxyScope):
    pass

cdef ProxyScope _proxying(ProxyScope scope, object tracer, tuple args, dict kwargs, tuple frames)
