# C types for the compiled twin of middleware.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.server_c cimport RequestChooser, ServerRequest

cdef object stock
cdef StockFunctions _beginning
cdef StockFunctions _ending

cdef class DjangoRequest(ServerRequest):
    cdef public dict attributes
    cdef public object exception
    cdef public object middleware
    cdef public object name
    cdef public object path
    cdef public object request
    @cython.locals(activation=Activation)
    cpdef start(self)
    cpdef bint is_malformed(self) except -1
    cpdef take_route(self, object request)
    cpdef answer(self, object request, object response)
    cdef _put_response(self, object request, object response)

cdef class DjangoPlan(EnvironShapes):
    cdef object exclusions
    cdef bint names_spans

cdef class _DjangoRequests(RequestChooser):
    @cython.locals(plan=DjangoPlan, begun=DjangoRequest, shape=EnvironShape)
    cdef find(self, object middleware, object request)
    cpdef bint is_malformed(self, object request) except -1

cdef _DjangoRequests _requests

cpdef process_request(object original, object middleware, object request)

cpdef process_response(object original, object middleware, object request, object response)

cdef _put_more(object middleware, object request, object span, dict attributes)
