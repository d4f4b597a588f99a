# C types for the compiled twin of _metrics.py.
import cython

from otel_fastpath.core._capi cimport COMPILED, c_attribute_key, c_bisect, c_is_amount, c_now
from otel_fastpath.core._series_c cimport Cell, Recorder, Series
from otel_fastpath.core._span_c cimport SpanState
from otel_fastpath.core._start_c cimport _outer_span

cdef object bisect_left
cdef object getrandbits
cdef object get_current
cdef object Measurement
cdef object NonRecordingSpan
cdef object get_current_span
cdef object INVALID_SPAN
cdef object SpanContext
cdef object faults
cdef dict _instrument_globals
cdef object _now
cdef object _new
cdef object _MOST
cdef object _EXACT
cdef object _make_recorder

cdef int _SUM
cdef int _LAST
cdef int _HISTOGRAM
cdef int _OTHER
cdef int _OFFER
cdef int _SIMPLE
cdef int _ALIGNED
cdef int _NONE
cdef int _TRACED
cdef int _ALL

cpdef key_of(object attributes)

@cython.locals(recorder=Recorder)
cpdef recorder_of(object instrument)

cdef bint _is_open(Recorder recorder, object amount) except -1

@cython.locals(recorder=Recorder, cells=tuple)
cpdef record(object instrument, object amount, object attributes, object context)

@cython.locals(own=Series, recorder=Recorder, cells=tuple)
cpdef bint record_bound(object series, object amount, object context) except -1

@cython.locals(cell=Cell, sampled=bint, stale=bint, state=dict)
cdef bint _record(Recorder recorder, tuple cells, object amount, object attributes, object context) except -1

@cython.locals(counts=list, state=dict)
cdef _add(Cell cell, object amount)

cdef Py_ssize_t _index(Cell cell, object amount) except -1

cdef _pass_on(Cell cell, object amount, object attributes, object context, bint sampled)

cdef bint _add_at_home(
    Cell cell, object amount, object attributes, object context, object own, bint sampled
) except -1

cdef _span_context(object held, object context)

cdef _time()

cdef _measurement(object instrument, object amount, object attributes, object context)

cdef _offer(Cell cell, object amount, object attributes, object context, object own)

@cython.locals(buckets=list, bucket=dict, index=Py_ssize_t, seen=Py_ssize_t)
cdef _put(Cell cell, object amount, object time, object attributes, object own)

cdef _random_below(object number)
