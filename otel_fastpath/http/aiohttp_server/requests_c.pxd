# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.environs_c cimport EnvironShape
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics, RequestLabels
from otel_fastpath.http.server_c cimport ServerRequest

cdef object needs_redaction
cdef StockFunctions _collecting

cdef class Requests:
    cdef dict _kept
    cdef object _mode
    cdef public bint has_new
    cdef public bint has_old
    cdef public ApplicationMetrics series
    @cython.locals(shape=EnvironShape, labels=RequestLabels, begun=AiohttpRequest, attributes=dict)
    cpdef AiohttpRequest make_request(self, object request)
    cdef _put(self, dict attributes, EnvironShape shape, object request, object target)
    cdef EnvironShape _new_shape(self, tuple key, object request, object target)

cdef class AiohttpRequest(ServerRequest):
    cdef public dict attributes
    cdef public object name
    @cython.locals(activation=Activation)
    cpdef start(self, object tracer, object request)
    cpdef answer(self, object response, object code)
    cpdef fail(self, object error, object code)

cpdef bint needs_look(object target) except -1

cdef _route(object request)

cdef _parent(object request)
