# C types for the compiled twin of middleware.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.server_c cimport RequestChooser, ServerRequest

cdef StockFunctions _stock_functions

@cython.locals(request=WsgiRequest)
cpdef serve(object original, object middleware, object environ, object start_response)

cdef class _WsgiRequests(RequestChooser):
    @cython.locals(shapes=EnvironShapes, shape=EnvironShape, found=WsgiRequest)
    cdef find(self, object middleware, object environ)
    cpdef bint is_malformed(self, object request) except -1

cdef _WsgiRequests _requests

cdef class WsgiRequest(ServerRequest):
    cdef public dict attributes
    cdef public dict environ
    cdef public object hook
    cdef public str method
    cdef public object middleware
    cdef public object start_response
    cpdef start(self)
    cpdef bint is_malformed(self) except -1
    @cython.locals(activation=Activation)
    cpdef serve(self)
    cpdef capture(self)
    cpdef body(self, object chunks)
    cpdef answer(self, object status, object response_headers)
    cpdef fail(self, object error)

cdef class Body:
    cdef object __weakref__
    cdef object _chunks
    cdef bint _is_ended
    cdef object _iterator
    cdef WsgiRequest _request
    cpdef _end(self)
    cdef _closing(self)
