# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics, RequestLabels
from otel_fastpath.http.server_c cimport RequestChooser, ServerRequest

cdef bint _HAS_ROUTES
cdef StockFunctions _collecting
cdef StockFunctions _stock_functions

cdef class _AiohttpRequests(RequestChooser):
    @cython.locals(plan=InstrumentationPlan)
    cdef find(self, object tracer, object request)

cdef _AiohttpRequests _requests

cdef class InstrumentationPlan(ApplicationMetrics):
    cdef dict _shapes
    @cython.locals(shape=EnvironShape, labels=RequestLabels, begun=AiohttpRequest, attributes=dict)
    cdef AiohttpRequest request(self, object tracer, object request)
    cdef _put(self, dict attributes, EnvironShape shape, object request, object target)
    cdef EnvironShape _new_shape(self, tuple key, object request, object target)

cdef class AiohttpRequest(ServerRequest):
    cdef public dict attributes
    cdef public object name
    cdef public object request
    cdef public object tracer
    @cython.locals(activation=Activation)
    cpdef start(self)
    cpdef answer(self, object response, object code)
    cpdef fail(self, object error, object code)

cpdef bint needs_look(object target) except -1

cdef _route(object request)

cdef _parent(object request)
