# C types for the compiled twin of server.py.
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.responses_c cimport ResponseTelemetry
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics, RequestLabels

cdef object LEFT_TO_STOCK
cdef object WITHOUT

cdef class ServerRequest(ResponseTelemetry):
    cdef public Activation activation
    cdef public bint is_counted
    cdef public RequestLabels labels
    cdef public object route
    cdef public ApplicationMetrics series
    cdef public double started
    cdef public object target
    cpdef prepare(self, ApplicationMetrics series, RequestLabels labels, Activation activation)
    cpdef start(self)
    cpdef try_start(self, object place)
    cpdef bint is_malformed(self) except -1
    cpdef count(self)
    cpdef uncount(self)
    cpdef measure(self)
    cpdef record(self, double seconds)
    cpdef end(self, object error)

cpdef dict collect_attributes(object collect, object request, object mode)
cpdef bint put_captured(object span, object variable, object collect, object headers) except -1
cdef class RequestChooser:
    cdef object _place
    cdef choose(self, object server, object request)
    cdef find(self, object server, object request)
    cpdef bint is_malformed(self, object request) except -1

cpdef serve_instead(object place, object error, bint malformed=*)
