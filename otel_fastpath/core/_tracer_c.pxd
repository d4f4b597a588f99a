# C types for the compiled twin of _tracer.py.
import cython

from otel_fastpath.core._capi cimport COMPILED, c_holders, c_is_bare, c_version
from otel_fastpath.core._identity_c cimport Dropped
from otel_fastpath.core._scope_c cimport Manner, Scope, Switch, attach, detach, filled, is_inert, patching
from otel_fastpath.core._span_c cimport SpanState
from otel_fastpath.core._start_c cimport start_span

cdef object faults
cdef object _INTERNAL

cdef class TracerScope(Scope):
    pass

cdef TracerScope _last_left

@cython.locals(scope=TracerScope)
cdef TracerScope _unused_scope()

@cython.locals(scope=TracerScope)
cdef _let_go(TracerScope left)

cdef class TracerManner(Manner):
    cdef public object ours
    cdef object tracer_class
    cdef unsigned int version
    cpdef with_frames(self, tuple frames)

@cython.locals(manner=TracerManner)
cdef bint _is_ours(Manner common, object tracer) except -1
