# C types for the compiled twin of points.py.
import cython

cdef object _ExplicitBucketHistogramAggregation
cdef object _LastValueAggregation
cdef object _SumAggregation
cdef object AlignedHistogramBucketExemplarReservoir
cdef object ExemplarBucket
cdef object SimpleFixedSizeExemplarReservoir
cdef object HistogramDataPoint
cdef object NumberDataPoint
cdef int _STRETCH
cdef object _DELTA
cdef object _CUMULATIVE
cdef object _INFINITY
cdef object _new
cdef object _fill_number
cdef object _fill_histogram

@cython.locals(points=list, left=int)
cpdef list points_of(list aggregations, object temporality, object start, object turn)

@cython.locals(state=dict, counts=list, before=list, merged=list, buckets=tuple)
cdef _histogram_point(object aggregation, object temporality, object start)

@cython.locals(kind=object)
cdef bint _is_number(object value) except -1

@cython.locals(merged=list, index=Py_ssize_t, count=longlong)
cdef list _merged(list before, list counts, object boundaries)

@cython.locals(state=dict)
cdef _sum_point(object aggregation, object temporality, object start)

@cython.locals(state=dict)
cdef _last_point(object aggregation, object temporality, object start)

cdef _number_point(dict state, object begin, object start, object value)

@cython.locals(own=dict, found=list, is_simple=bint)
cdef _exemplars(dict state)
