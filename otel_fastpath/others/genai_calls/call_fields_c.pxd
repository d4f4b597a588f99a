# C types for the compiled twin of call_fields.py.
import cython

cdef tuple CONTENT
cdef tuple LISTS
cdef frozenset MERGED
cdef frozenset MERGED_ALWAYS
cdef tuple TOKENS
cdef tuple _FIRST
cdef tuple _REQUEST
cdef tuple _RESPONSE
cdef tuple _USED
cdef tuple _MORE
cdef tuple _LAST
cdef tuple _METRIC

cdef new_data()

@cython.locals(start=dict, more=dict, made=dict)
cdef dict metric_attributes(dict own, dict data)

@cython.locals(made=dict)
cdef dict attributes_of(dict own, dict data)

cdef take(dict made, dict data, tuple table)

cdef bint has_dicts(dict own) except -1
