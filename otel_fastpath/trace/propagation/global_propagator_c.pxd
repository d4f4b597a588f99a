# C types for the compiled twin of global_propagator.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef tuple _USUAL
cdef W3C _reading
cdef W3C _writing

cdef class FoundPropagator:
    cdef object baggage
    cdef Facts facts
    cdef object parts
    cdef object trace_context
    cdef bint is_unchanged(self) except -1

cdef class W3C:
    cdef FoundPropagator _found
    cdef str _method
    @cython.locals(found=FoundPropagator)
    cpdef propagator(self)
    cdef FoundPropagator _look_again(self)

cdef FoundPropagator _kept(W3C w3c)
cdef _keep(W3C w3c, FoundPropagator found)

cpdef w3c_reader()
cpdef w3c_writer()
