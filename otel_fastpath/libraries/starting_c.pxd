# C types for the compiled twin of starting.py.
import cython

from otel_fastpath.trace.planning.plan_c cimport Late, Spans

cdef object ProxyTracer
cdef object faults
cdef dict _trace_globals
cdef dict _metrics_globals
cdef Watch _watch

cdef class Watched:
    cdef Spans spans
    cdef object start_span
    cdef object tracer_class

cdef class Watch:
    cdef Watched tracers

cdef Watched _watched(Watch watch)
cdef _watch_others(Watch watch, Watched tracers)

@cython.locals(watched=Watched)
cpdef start(object tracer, object kind, Late late)

@cython.locals(watched=Watched)
cpdef bint emit(object tracer, object kind, object name, object attributes, object status) except -1

@cython.locals(watched=Watched)
cpdef bint drops_below(object tracer, object span) except -1

@cython.locals(spans=Spans)
cpdef bint is_recording(object span) except -1

cpdef end_span(object span, str place)

@cython.locals(watched=Watched)
cpdef start_if_kept(object tracer, object kind, object name, object attributes, object start_ns)

cpdef metered(bint has_meter, object series)
