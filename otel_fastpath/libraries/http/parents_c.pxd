# C types for the compiled twin of parents.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef object context_api
cdef object propagate
cdef object trace
cdef object Context
cdef object INVALID_SPAN
cdef object SpanKind
cdef object CompositePropagator
cdef object W3CBaggagePropagator
cdef object TraceContextTextMapPropagator
cdef object faults
cdef object seen_through
cdef object as_defined
cdef object FunctionType
cdef object _SERVER
cdef object _INTERNAL
cdef object _USUAL
cdef W3C _w3c

cdef class Found:
    cdef Facts facts
    cdef object trace_context

cdef class W3C:
    cdef Found _found
    @cython.locals(found=Found)
    cpdef propagator(self)
    cdef Found _look_again(self)

cdef Found _kept(W3C w3c)
cdef _keep(W3C w3c, Found found)

cpdef w3c_propagator()
cpdef remote(dict environ)
cpdef tuple start(object tracer, object name, dict environ, dict attributes, object start_time=*)
cpdef attached(object context)
cpdef activated(object span)
cpdef taken_back(object token)
