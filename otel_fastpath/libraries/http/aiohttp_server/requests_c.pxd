# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.libraries.http.responses_c cimport Answer
from otel_fastpath.libraries.http.series_c cimport Labels, Series

cdef object perf_counter
cdef object propagate
cdef object web
cdef object Context
cdef object upstream
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

cdef class Shape:
    cdef public Labels labels
    cdef public str method
    cdef public str prefix
    cdef public dict template

cdef class Requests:
    cdef dict _kept
    cdef object _mode
    cdef public bint has_new
    cdef public bint has_old
    cdef public Series series
    @cython.locals(shape=Shape, labels=Labels, begun=Request, attributes=dict)
    cpdef Request made(self, object request)
    cdef _put(self, dict attributes, Shape shape, object request, object target)
    cdef Shape _new_shape(self, tuple key, object request, object target)

cdef class Request(Answer):
    cdef public dict attributes
    cdef public bint is_counted
    cdef public bint is_over
    cdef public Labels labels
    cdef public object name
    cdef public object route
    cdef public Series series
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
