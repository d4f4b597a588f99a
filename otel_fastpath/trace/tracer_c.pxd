# C types for the compiled twin of tracer.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.context.scope_c cimport Manner, OpenScope

cdef object faults
cdef object _INTERNAL

cdef class TracerScope(OpenScope):
    @cython.locals(start=tuple, manner=TracerManner)
    cdef _started(self)
    @cython.locals(manner=TracerManner)
    cdef _start_upstreams_way(self)

cdef class TracerManner(Manner):
    cdef public object ours
    cdef Facts starting
    cdef object tracer_class
    cpdef with_frames(self, tuple frames)
