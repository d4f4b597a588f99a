# C types for the compiled twin of instruments.py.
from otel_fastpath.metrics.instruments.bound_c cimport BoundCounter, BoundHistogram

cdef class ApplicationInstruments:
    cdef dict _actives
    cdef dict _durations
    cdef readonly object active
    cdef readonly object duration
    cdef BoundCounter counter(self, dict attributes)
    cdef BoundHistogram histogram(self, dict attributes)
    cdef _bound(self, dict known, object instrument, dict attributes)

cdef ApplicationInstruments kept_for(object own)
