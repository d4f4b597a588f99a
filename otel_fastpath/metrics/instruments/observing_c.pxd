# C types for the compiled twin of observing.py.
import cython

from otel_fastpath.metrics.instruments.series_c cimport Recorder, SeriesCell

cdef dict _instrument_globals
cdef bint _CHECKS

@cython.locals(cells=tuple, is_plain=bint)
cpdef observe(object instrument, object options, Recorder recorder, object storage, object sampling)

cdef _measurement(object instrument, object given)

cdef _record(object storage, object sampling, object measurement)

@cython.locals(cells=object)
cdef tuple _known(Recorder recorder, object amount, object attributes, object context)

@cython.locals(cell=SeriesCell)
cdef _record_known(tuple cells, object amount, object attributes, object context)
