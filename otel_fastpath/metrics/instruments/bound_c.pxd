# C types for the compiled twin of bound.py.
import cython

from otel_fastpath.metrics.instruments.series_c cimport Series

cdef list _find

cdef class Bound:
    cdef public object _attributes
    cdef public object _instrument
    cdef public Series _series

cdef class BoundCounter(Bound):
    cpdef add(self, object amount, object context=*)

cdef class BoundHistogram(Bound):
    cpdef record(self, object amount, object context=*)

cdef class BoundGauge(Bound):
    cpdef set(self, object amount, object context=*)

@cython.locals(series=Series)
cdef bint _record(Bound bound, object amount, object context)

cdef _record_as_stock(Bound bound, object original, object amount, object context)

@cython.locals(series=Series)
cdef _look_again(Bound bound)

cdef Series _series_of(Bound bound)

cdef _use_series(Bound bound, Series series)
