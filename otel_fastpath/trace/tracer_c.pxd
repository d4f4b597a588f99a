# C types for the compiled twin of tracer.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.context.scope_c cimport ScopeKind, OpenScope

cdef class TracerScope(OpenScope):
    @cython.locals(start=tuple, manner=TracerManner)
    cdef _start_span(self)
    @cython.locals(manner=TracerManner)
    cdef _start_as_stock(self)

cdef class TracerManner(ScopeKind):
    cdef public object ours
    cdef Facts starting
    cdef object tracer_class
    cpdef with_frames(self, tuple frames)
