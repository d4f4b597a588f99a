# C types for the compiled twin of starting.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.planning.plan_c cimport LazyAttributes, SpanStarter

cdef dict _trace_globals
cdef dict _metrics_globals
cdef TracerWatch _watch

cdef class WatchedTracers:
    cdef SpanStarter spans
    cdef Facts starting
    cdef object tracer_class

cdef class TracerWatch:
    cdef WatchedTracers tracers

cdef WatchedTracers _watched(TracerWatch watch)
cdef _watch_others(TracerWatch watch, WatchedTracers tracers)

@cython.locals(watched=WatchedTracers)
cpdef start(object tracer, object kind, LazyAttributes late)

@cython.locals(watched=WatchedTracers)
cpdef bint emit(object tracer, object kind, object name, object attributes, object status) except -1

@cython.locals(watched=WatchedTracers)
cpdef bint drops_below(object tracer, object span) except -1

@cython.locals(watched=WatchedTracers)
cpdef bint drops(object tracer) except -1

cdef bint _has_no_sdk(object tracer) except -1

@cython.locals(spans=SpanStarter)
cpdef bint is_recording(object span) except -1

cpdef end_span(object span, str place)

@cython.locals(watched=WatchedTracers)
cpdef start_if_kept(object tracer, object kind, object name, object attributes, object start_ns)

cpdef metered(bint has_meter, object series)
