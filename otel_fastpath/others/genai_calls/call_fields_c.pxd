# C types for the compiled twin of call_fields.py.
import cython

cdef tuple CONTENT
cdef tuple LISTS
cdef frozenset MERGED
cdef frozenset MERGED_ALWAYS
cdef tuple TOKENS
cdef tuple _ATTRIBUTES
cdef dict _RANKS
cdef list _NONE_OF_THEM
cdef Py_ssize_t _CONVERSATION
cdef Py_ssize_t _REASONS
cdef Py_ssize_t _FIRST_COUNT
cdef Py_ssize_t _LAST_COUNT
cdef Py_ssize_t _COMPACTED
cdef tuple _METRIC

cdef new_data()

@cython.locals(start=dict, more=dict, made=dict)
cdef dict metric_attributes(dict own, dict data)

@cython.locals(found=list, rank=Py_ssize_t, made=dict)
cdef dict attributes_of(dict own, dict data)

cdef bint has_dicts(dict own) except -1
