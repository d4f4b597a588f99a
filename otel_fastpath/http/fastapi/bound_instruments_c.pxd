# C types for the compiled twin of instruments.py.
import cython

from otel_fastpath.http.servers.server_metrics_c cimport RequestLabels
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram
from otel_fastpath.patching.plans_c cimport Plan

cdef class ApplicationInstruments(Plan):
    cdef object _active
    cdef dict _bound
    cdef object _duration
    cdef bint is_of(self, object own, object duration, object active) except -1
    cdef RequestLabels labels(self, dict attributes)
    cdef BoundHistogram histogram(self, dict attributes)
    cdef _found(self, dict attributes, bint is_counter)

@cython.locals(plan=ApplicationInstruments)
cdef ApplicationInstruments instruments_of(object own)
