# C types for the compiled twin of plan.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.compiled.sharing_c cimport shared_flag, shared_int
from otel_fastpath.patching.plans_c cimport Plan

cdef class TracerPlan(Plan):
    cdef public frozenset as_is
    cdef public bint asks
    cdef public tuple bounds
    cdef public object clean
    cdef public object config
    cdef public tuple delegates
    cdef public object dropped_class
    cdef public Facts ending
    cdef public object event_class
    cdef public object generator
    cdef public bint held_ending
    cdef public object info
    cdef public shared_flag is_stale
    cdef public object limits
    cdef public int local_not_sampled
    cdef public int local_sampled
    cdef public Py_ssize_t max_attributes
    cdef public Py_ssize_t max_event_attributes
    cdef public Py_ssize_t max_event_value
    cdef public Py_ssize_t max_events
    cdef public Py_ssize_t max_value
    cdef public object metrics
    cdef public tuple on_end
    cdef public tuple on_ending
    cdef public tuple on_start
    cdef public bint only_batches
    cdef public object processor
    cdef public int random_flag
    cdef public bint random_ids
    cdef public object read_only_class
    cdef public int remote_not_sampled
    cdef public int remote_sampled
    cdef public object resource
    cdef public int root
    cdef public object sampler
    cdef public Facts sampling
    cdef public object scope
    cdef public TracerPlan served
    cdef public object span_class
    cdef public Facts starting
    cdef public dict switch
    cdef public object tracer_class

cpdef TracerPlan copy_for(TracerPlan plan, Facts facts, object tracer)

@cython.locals(made=TracerPlan)
cdef TracerPlan _copy(TracerPlan plan)

cdef class LazyAttributes:
    cdef public dict attributes
    cdef public object name
    cdef make(self)

cdef class SpanStarter:
    cdef start(self, object tracer, object name, object kind, object attributes, object start)
    cdef start_late(self, object tracer, object kind, LazyAttributes late)
    cdef emit(self, object tracer, object name, object kind, object attributes)
    cdef bint drops(self, object tracer) except -1
    cdef bint drops_below(self, object tracer, object span) except -1
    cdef bint is_recording(self, object span) except -1

cdef class ProcessorQueue(Plan):
    cdef public bint has_known_emit
    cdef public Py_ssize_t max_batch
    cdef public Py_ssize_t max_queue
    cdef public shared_int pid
    cdef public object processor
    cdef public object append
    cdef public object queue
    cdef public dict state

@cython.locals(length=Py_ssize_t)
cdef enqueue(ProcessorQueue batch, object span)
