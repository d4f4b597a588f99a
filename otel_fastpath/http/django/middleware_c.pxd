# C types for the compiled twin of middleware.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.servers.series_c cimport ApplicationMetrics, RequestLabels
from otel_fastpath.http.server_c cimport ServerRequest

cdef object time
cdef object propagators
cdef object stock
cdef object otel_middleware
cdef object HTTP_TARGET
cdef object HTTP_ROUTE
cdef object is_refused
cdef object is_wsgi
cdef object key_of_url
cdef object name_of
cdef StockFunctions _beginning
cdef StockFunctions _ending
cdef object Exclusions
cdef object excludes
cdef object REQUEST_HEADERS
cdef object RESPONSE_HEADERS
cdef object VARIABLES
cdef object faults
cdef object _PLACE
cdef object _Middleware
cdef object _get_span_name
cdef object _START_TIME
cdef object _ACTIVATION
cdef object _SPAN
cdef object _COUNTED
cdef object _TIMED
cdef object _STARTED
cdef object _EXCEPTION

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
