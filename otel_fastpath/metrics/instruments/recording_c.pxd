# C types for the compiled twin of recording.py.
import cython

from otel_fastpath.trace.spans.identity_c cimport Identity
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.metrics.instruments.series_c cimport SeriesCell, Recorder, Series

cdef dict inside
cdef frozenset _PLAIN
cdef list _make_recorder

cdef int _SUM
cdef int _LAST
cdef int _HISTOGRAM
cdef int _OTHER
cdef int _NONE
cdef int _TRACED
cdef int _ALL

cdef class BoundSeries(Series):
    @cython.locals(recorder=Recorder, cells=tuple)
    cpdef bint record(self, object amount, object context) except -1

cpdef cells_of(Recorder recorder, object attributes)

@cython.locals(recorder=Recorder)
cpdef recorder_of(object instrument)

cpdef Facts facts_of(list facts)

cdef bint _try_open(Recorder recorder, object amount) except -1

cdef bint _is_as_planned(tuple filters) except -1

@cython.locals(recorder=Recorder)
cdef _record(object instrument, object amount, object attributes, object context)

@cython.locals(kept=dict, key=tuple, cells=tuple)
cdef _record_new(Recorder recorder, object instrument, object amount, object attributes, object context)

cpdef bint is_plain(dict attributes) except -1

cdef tuple _cells(Series series)

cdef _use_cells(Series series, tuple cells)

@cython.locals(cell=SeriesCell, span=Identity, found=tuple, index=Py_ssize_t, sampled=bint, stale=bint)
cdef bint _record_to(
    Recorder recorder, tuple cells, object amount, object attributes, object context
) except -1

@cython.locals(counts=list, made=list, state=dict, index=Py_ssize_t, kind=cython.int, extremes=bint)
cdef Py_ssize_t _add(SeriesCell cell, object amount) except -2

@cython.locals(index=Py_ssize_t)
cdef bint _add_apart(
    SeriesCell cell, object amount, object attributes, object context, object span_id, object trace_id, bint sampled
) except -1

cdef _pass_on(SeriesCell cell, object amount, object attributes, object context, bint sampled)
