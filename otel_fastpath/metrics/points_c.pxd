# C types for the compiled twin of points.py.
import cython

cdef int _STRETCH

@cython.locals(points=list, left=int)
cpdef list points_of(list aggregations, object temporality, object start, object turn)

@cython.locals(state=dict, counts=list, before=list, merged=list, buckets=tuple, fields=dict)
cdef _histogram_point(object aggregation, object temporality, object start)

@cython.locals(state=dict)
cdef _exponential_point(object aggregation, object temporality, object start)

@cython.locals(kind=object)
cdef bint _is_number(object value) except -1

@cython.locals(merged=list, index=Py_ssize_t, count=longlong)
cdef list _merge(list before, list counts, object boundaries)

@cython.locals(state=dict, fields=dict)
cdef _sum_point(object aggregation, object temporality, object start)

@cython.locals(state=dict)
cdef _last_point(object aggregation, object temporality, object start)

cdef _number_point(dict state, object begin, object start, object value)

@cython.locals(own=dict, found=list, is_simple=bint)
cdef _exemplars(dict state)
