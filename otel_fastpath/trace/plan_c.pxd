# C types for the compiled twin of plan.py.
import cython


cdef object faults

cdef class Batch

cdef class Plan:
    cdef public frozenset as_is
    cdef public bint asks
    cdef public tuple bounds
    cdef public object clean
    cdef public object config
    cdef public object dropped_class
    cdef public object event_class
    cdef public Batch first_batch
    cdef public object generator
    cdef public object info
    cdef public object limits
    cdef public int local_not_sampled
    cdef public int local_sampled
    cdef public Py_ssize_t max_attributes
    cdef public Py_ssize_t max_event_attributes
    cdef public Py_ssize_t max_event_value
    cdef public Py_ssize_t max_events
    cdef public Py_ssize_t max_value
    cdef public object metrics
    cdef public bint only_batches
    cdef public object processor
    cdef public dict processor_state
    cdef public object processors
    cdef public int random_flag
    cdef public bint random_ids
    cdef public int remote_not_sampled
    cdef public int remote_sampled
    cdef public object resource
    cdef public int root
    cdef public object sampler
    cdef public object scope
    cdef public Plan served
    cdef public object span_class
    cdef public bint starts
    cdef public dict switch
    cdef public object tracer_class

cdef class Spans:
    cdef start(self, object tracer, object name, object kind, object attributes, object start)

cdef class Batch:
    cdef public Py_ssize_t max_batch
    cdef public Py_ssize_t max_queue
    cdef public int pid
    cdef public object processor
    cdef public Batch after
    cdef public object append
    cdef public object queue
    cdef public Py_ssize_t room
    cdef public dict state

@cython.locals(length=Py_ssize_t)
cdef enqueue(Batch batch, object span)
