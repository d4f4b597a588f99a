# C types for the compiled twin of middleware.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics, RequestLabels
from otel_fastpath.http.server_c cimport ServerRequest

cdef object stock
cdef StockFunctions _beginning
cdef StockFunctions _ending

cdef class DjangoRequest(ServerRequest):
    cdef public object exception
    cdef public object path
    cdef public object span
    cpdef take_route(self, object request)
    cpdef answer(self, object request, object response)
    cdef _put_response(self, object request, object response)

cdef class Middleware:
    cdef object _exclusions
    cdef EnvironShapes _shapes
    cpdef process_request(self, object original, object middleware, object request)
    @cython.locals(series=ApplicationMetrics, shapes=EnvironShapes)
    cdef EnvironShapes _shapes_of(self, object middleware)
    @cython.locals(activation=Activation, begun=DjangoRequest, shapes=EnvironShapes, shape=EnvironShape, attributes=dict)
    cdef _begin(self, object middleware, object request)
    @cython.locals(activation=Activation, labels=RequestLabels)
    cdef bint _try_activate(self, DjangoRequest begun, object middleware, object request, object attributes) except -1
    cpdef process_response(self, object original, object middleware, object request, object response)

cdef object _exclusions(Middleware kept)

cdef _keep_exclusions(Middleware kept, object exclusions)

cdef EnvironShapes _shapes(Middleware kept)

cdef _keep_shapes(Middleware kept, EnvironShapes shapes)

cdef _put_more(object middleware, object request, object span, dict attributes)
