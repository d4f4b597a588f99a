# C types for the compiled twin of finishing.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _inference_globals
cdef Facts _finished

cdef class FinishedCall:
    cdef dict own
    cdef dict span
    cdef dict metrics
    cdef object event

@cython.locals(data=dict, attributes=dict, known=dict, start=dict, content=dict, event=dict)
cdef FinishedCall _finish(dict own, object error)

cdef _enrich(dict data, dict inner)

@cython.locals(own=dict, data=dict)
cdef _tell(object self, FinishedCall made, object error)
