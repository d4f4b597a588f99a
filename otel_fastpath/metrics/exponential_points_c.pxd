# C types for the compiled twin of exponential_points.py.
import cython

@cython.locals(own_positive=dict, own_negative=dict)
cpdef take_delta(dict state, object start)

@cython.locals(
    own_before=dict, own_below=dict, own_positive=dict, own_negative=dict, change=longlong, most=longlong
)
cpdef take_cumulative(dict state, object start)

cdef _reset(dict state)

@cython.locals(own=dict, start=longlong, end=longlong, base=longlong)
cdef dict _own(object buckets, long long most)

@cython.locals(
    counts=list, start=longlong, end=longlong, base=longlong, low=longlong, high=longlong, first=longlong, last=longlong
)
cdef bint _can_add(dict own, dict earlier, long long change, long long most) except -1

@cython.locals(
    counts=list, target=list, base=longlong, end=longlong, low=longlong, high=longlong, first=longlong, last=longlong,
    target_base=longlong, index=longlong, size=Py_ssize_t, count=longlong
)
cdef _add(dict own, object earlier, dict own_earlier, long long change, long long most)

@cython.locals(start=longlong)
cdef _buckets_point(dict own)
