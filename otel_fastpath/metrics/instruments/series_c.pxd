# C types for the compiled twin of series.py.
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.compiled.sharing_c cimport shared_flag, shared_size
from otel_fastpath.patching.plans_c cimport Plan

cdef class BucketScale:
    cdef public object mapping
    cdef public object number
    cdef public double factor

cdef class SeriesCell:
    cdef public object aggregation
    cdef public object attributes
    cdef public tuple boundaries
    cdef public list buckets
    cdef public list home
    cdef public bint is_filtered
    cdef public object is_locked
    cdef public bint is_plain
    cdef public bint keeps_extremes
    cdef public int kind
    cdef public object lock
    cdef public object match
    cdef public int offers
    cdef public object reservoir
    cdef public object reservoir_lock
    cdef public dict reservoir_state
    cdef public BucketScale scale
    cdef public dict state

cdef class Recorder(Plan):
    cdef public shared_size bytes
    cdef public dict config
    cdef public dict consumer
    cdef public Facts facts
    cdef public tuple filters
    cdef public list homes
    cdef public shared_flag is_refused
    cdef public object learn
    cdef public object least
    cdef public int samples
    cdef public dict series
    cdef public object sights
    cdef public object storages

cdef class ObservedSeries(Plan):
    cdef public dict recorders

cdef class Series:
    cdef public object attributes
    cdef public tuple cells
    cdef public Recorder recorder
    cpdef bint record(self, object amount, object context) except -1
