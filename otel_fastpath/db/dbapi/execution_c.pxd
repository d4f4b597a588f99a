# C types for the compiled twin of execution.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef bint _MEASURES
cdef Facts _facts

cdef class Text:
    cdef public dict attributes
    cdef public object duration
    cdef public object name
    cdef public object operation
    cdef public object rows

cdef class Texts:
    cdef public object cache
    cdef public tuple state

cdef tuple _state(object integration)

@cython.locals(texts=Texts, state=tuple)
cpdef find(object tracer, object cursor, tuple args)

cpdef run(object tracer, Text found, object cursor, object method, tuple args, dict kwargs)

cdef _describe(object span, object tracer, Text found, tuple args)

cdef _record(object tracer, object cursor, Text found, double start, object error)
