# C types for the compiled twin of exemplars.py.
import cython

from otel_fastpath.metrics.instruments.series_c cimport SeriesCell

cdef dict _instrument_globals
cdef tuple _FIELDS

cdef bint COPIES
cdef int _OFFER
cdef int _SIMPLE
cdef int _ALIGNED

cdef class Bucket:
    cdef public tuple held

cdef tuple _held(Bucket bucket)

cdef _hold(Bucket bucket, tuple held)

cdef tuple _take(Bucket bucket)

cdef tuple _last_ids(Bucket bucket)

cdef tuple _span_context(object held, object context)

cdef measured_at()

@cython.locals(bucket=Bucket, held=tuple, place=Py_ssize_t)
cdef keep(
    SeriesCell cell, object amount, object attributes, object context, Py_ssize_t index, object span_id, object trace_id
)

@cython.locals(state=dict, seen=Py_ssize_t, place=Py_ssize_t)
cdef Py_ssize_t _next_place(SeriesCell cell) except -2

@cython.locals(made=Bucket)
cdef Bucket _take_over(SeriesCell cell, Py_ssize_t place)

cpdef new_measurement(object instrument, object amount, object attributes, object context)
