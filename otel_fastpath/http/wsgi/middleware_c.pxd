# C types for the compiled twin of middleware.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.http.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.responses_c cimport ResponseTelemetry
from otel_fastpath.http.series_c cimport RequestLabels, ApplicationMetrics

cdef object perf_counter
cdef object stock
cdef object ERROR_TYPE
cdef object Status
cdef object StatusCode
cdef object REQUEST_HEADERS
cdef object RESPONSE_HEADERS
cdef object VARIABLES
cdef object faults
cdef object COLLECTING
cdef object STOCK
cdef object _STOCK
cdef object UNKNOWN
cdef object _PLACE
cdef object _SERVER
cdef object _Middleware
cdef Facts _facts

@cython.locals(request=WsgiRequest)
cpdef serve(object original, object middleware, object environ, object start_response)

cdef EnvironShapes _shapes_of(object middleware)

@cython.locals(shapes=EnvironShapes, shape=EnvironShape, request=WsgiRequest)
cdef WsgiRequest _make_request(object middleware, dict environ, object start_response)

cdef class WsgiRequest(ResponseTelemetry):
    cdef public object active
    cdef public dict attributes
    cdef public object context
    cdef public dict environ
    cdef public object hook
    cdef public bint is_over
    cdef public RequestLabels labels
    cdef public object method
    cdef public ApplicationMetrics series
    cdef public object span
    cdef public object start_response
    cdef public object token
    cpdef start(self, object tracer)
    cpdef serve(self, object middleware)
    cpdef capture(self)
    cpdef activate(self)
    cpdef deactivate(self)
    cpdef note(self, object error)
    cpdef body(self, object chunks)
    cpdef answer(self, object status, object response_headers)
    cpdef record(self, object seconds)
    cpdef fail(self, object error)
    cpdef enter(self)
    cpdef leave(self)
    cpdef end(self)

cdef class Body:
    cdef object __weakref__
    cdef object _chunks
    cdef bint _is_ended
    cdef object _iterator
    cdef WsgiRequest _request
    cpdef _end(self)
    cdef _closing(self)
