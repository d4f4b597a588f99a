# C types for the compiled twin of sent_calls.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _globals
cdef Facts _ending
cdef Facts _setting

cdef _propagated(dict carrier, object metadata)

cdef bint _is_usual(object interceptor) except -1

cdef class Outcome:
    cdef public object error
    cdef public object response

cdef _describe(object span, object error)

cdef _header(object setter)

cdef _with_header(object metadata, str header)
