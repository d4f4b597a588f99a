# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.http.responses_c cimport ResponseTelemetry
from otel_fastpath.http.series_c cimport RequestLabels, ApplicationMetrics

cdef object perf_counter
cdef object propagate
cdef object web
cdef object Context
cdef object stock
cdef object _report_new
cdef object _report_old
cdef object HTTP_ROUTE
cdef object HTTP_TARGET
cdef object HTTP_URL
cdef object URL_PATH
cdef object URL_QUERY
cdef object LONGEST
cdef object keep
cdef object METHODS
cdef object needs_redaction
cdef object REQUEST_HEADERS
cdef object RESPONSE_HEADERS
cdef object VARIABLES
cdef object faults
cdef object COLLECTING
cdef object _COLLECTING
cdef object UNKNOWN
cdef Facts _collected
cdef object _PLACE
cdef object _SERVER
cdef object _OF_A_REQUEST

cdef class AiohttpShape:
    cdef public RequestLabels labels
    cdef public str method
    cdef public str prefix
    cdef public dict template

cdef class Requests:
    cdef dict _kept
    cdef object _mode
    cdef public bint has_new
    cdef public bint has_old
    cdef public ApplicationMetrics series
    @cython.locals(shape=AiohttpShape, labels=RequestLabels, begun=Request, attributes=dict)
    cpdef Request make_request(self, object request)
    cdef _put(self, dict attributes, AiohttpShape shape, object request, object target)
    cdef AiohttpShape _new_shape(self, tuple key, object request, object target)

cdef class Request(ResponseTelemetry):
    cdef public dict attributes
    cdef public bint is_counted
    cdef public bint is_over
    cdef public RequestLabels labels
    cdef public object name
    cdef public object route
    cdef public ApplicationMetrics series
    cdef public object span
    cdef public object started
    cdef public object token
    cpdef start(self, object tracer, object request)
    cpdef answer(self, object response, object code)
    cpdef fail(self, object error, object code)
    cpdef end(self)
    cdef _measure(self)
    cdef _leave(self)

cpdef bint needs_look(object target) except -1

cdef _route(object request)

cdef _parent(object request)
