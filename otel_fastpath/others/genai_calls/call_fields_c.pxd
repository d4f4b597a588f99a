# C types for the compiled twin of call_fields.py.
import cython

cdef tuple CONTENT
cdef tuple LISTS
cdef tuple MERGED
cdef dict EMPTY
cdef tuple FIRST
cdef tuple REQUEST
cdef tuple RESPONSE
cdef tuple USED
cdef tuple LAST
cdef object COMPACTED
cdef tuple PROMPT
cdef tuple METRIC
cdef tuple TOKENS

cdef new_data()

@cython.locals(made=dict)
cdef dict metric_attributes(dict own, dict data)

cdef take(dict made, dict data, tuple table)
