# C types for the compiled twin of exponential.py.
import cython

from otel_fastpath.metrics.instruments.series_c cimport BucketScale, SeriesCell

cdef int DROPPED
cdef int LEFT
cdef int _AGAIN
cdef int EXPONENTIAL

@cython.locals(state=dict, is_negative=bint, index=longlong, scale=BucketScale, result=cython.int)
cdef int add_to_buckets(SeriesCell cell, object amount) except -2

@cython.locals(state=dict, own=dict, is_negative=bint, start=longlong, end=longlong, base=longlong, counts=list)
cdef int _add_known(SeriesCell cell, object amount, long long index, BucketScale scale, object buckets) except -2

@cython.locals(state=dict, own=dict, total=object)
cdef bint _try_begin(SeriesCell cell, object amount, long long index, BucketScale scale) except -1

cdef _new_buckets()

cdef BucketScale _scale_of(SeriesCell cell)

cdef _use_scale(SeriesCell cell, BucketScale scale)

cdef BucketScale _read_scale(object mapping)

@cython.locals(state=dict)
cpdef int _add_locked(SeriesCell cell, object amount, object number, long long index, BucketScale scale) except -2

@cython.locals(state=dict)
cdef _count(SeriesCell cell, object amount)

@cython.locals(own=dict, start=longlong, end=longlong, base=longlong, span=longlong, counts=list)
cdef bint _try_reach(object buckets, long long index, long long most) except -1
