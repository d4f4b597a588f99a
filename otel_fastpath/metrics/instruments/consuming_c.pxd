# C types for the compiled twin of consuming.py.
import cython

from otel_fastpath.metrics.instruments.series_c cimport Recorder, SeriesCell

cdef dict inside

@cython.locals(recorder=Recorder, cell=SeriesCell, sampled=bint)
cdef bint _try_consume(object consumer, object measurement) except -1

@cython.locals(kept=dict, key=tuple)
cdef _learnt(Recorder recorder, object attributes)

@cython.locals(cell=SeriesCell)
cdef bint _stay(tuple cells) except -1
