# C types for the compiled twin of calls.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.http.outgoing_c cimport ResponsePlan, CallShape, CallShapes

cdef object getclosurevars
cdef object default_timer
cdef object semconv
cdef object stock
cdef object SpanKind
cdef object get_custom_header_attributes
cdef object normalise_request_header_name
cdef object normalise_response_header_name
cdef object kinds
cdef object faults
cdef object STOCK
cdef object _STOCK
cdef object _BEGINNING
cdef object UNKNOWN
cdef Facts _facts
cdef object _BEGINNING
cdef object _END
cdef object _CLIENT

cdef class AiohttpClientInstrumentation:
    cdef object _captured_request
    cdef object _captured_response
    cdef object _mode
    cdef object _request_hook
    cdef object _response_hook
    cdef object _sensitive
    cdef CallShapes _shapes
    cpdef bint start(self, object context, object params) except -1
    cpdef stop(self, object context, object error)
    cpdef bint finish(self, object context, object params) except -1
    @cython.locals(shape=CallShape, url=str, attributes=dict, captured=dict)
    cdef begin(self, object context, object params)
    cdef enter(self, object context)
    @cython.locals(answer=ResponsePlan)
    cdef end(self, object context, CallShape shape, object response)
    @cython.locals(answer=ResponsePlan, attributes=dict)
    cdef ResponsePlan record_response(self, object context, CallShape shape, object response)
    cdef dict _captured(self, object headers, object names, object normalise)
