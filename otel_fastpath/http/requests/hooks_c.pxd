# C types for the compiled twin of hooks.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.http.outgoing_c cimport ResponsePlan, CallShape, CallShapes

cdef object functools
cdef object getclosurevars
cdef object default_timer
cdef object semconv
cdef object stock
cdef object USER_AGENT_SYNTHETIC_TYPE
cdef object ERROR_TYPE
cdef object NETWORK_PEER_ADDRESS
cdef object NETWORK_PEER_PORT
cdef object USER_AGENT_ORIGINAL
cdef object SpanKind
cdef object detect_synthetic_user_agent
cdef object get_custom_header_attributes
cdef object normalise_request_header_name
cdef object normalise_response_header_name
cdef object normalize_user_agent
cdef object Response
cdef object CaseInsensitiveDict
cdef object kinds
cdef object search_of
cdef object faults
cdef object STOCK
cdef object _STOCK
cdef object _BEGINNING
cdef object UNKNOWN
cdef Facts _facts
cdef object _BEGINNING
cdef object _END
cdef object _CLIENT
cdef object _HTTP_1_1
cdef Py_ssize_t _LONGEST
cdef object _agent_kept

cdef class RequestsInstrumentation:
    cdef object _captured_request
    cdef object _captured_response
    cdef object _excluded
    cdef bint _has_hooks
    cdef bint _is_new
    cdef object _mode
    cdef object _new
    cdef object _old
    cdef object _original
    cdef object _request_hook
    cdef object _response_hook
    cdef object _sensitive
    cdef CallShapes _shapes
    cdef object _tracer
    cdef object _wrapped
    @cython.locals(answer=ResponsePlan)
    cdef _send(self, CallShape shape, object span, tuple args, dict kwargs)
    @cython.locals(shape=CallShape)
    cdef begin(self, object request)
    @cython.locals(answer=ResponsePlan, attributes=dict)
    cdef ResponsePlan record_response(self, CallShape shape, object span, object response)
    cdef response_of(self, object error)
    cdef record_error(self, ResponsePlan answer, object span, object error, double seconds)
    cdef ResponsePlan _new_answer(self, CallShape shape, object response)
    cdef dict _captured(self, object headers, object names, object normalise)
