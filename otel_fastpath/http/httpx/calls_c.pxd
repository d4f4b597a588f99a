# C types for the compiled twin of calls.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.http.outgoing_c cimport ResponsePlan, CallShape, CallShapes

cdef object inject
cdef object faults
cdef object UNKNOWN
cdef object BEGINNING
cdef object _END
cdef object _CLIENT

cdef class HttpxCall:
    cdef public dict attributes
    cdef public object headers
    cdef public object info
    cdef public object name
    cdef public object request
    cdef public object scope
    cdef public CallShape shape
    cdef public object span

cdef class HttpxCalls:
    cdef object _captured_request
    cdef object _captured_response
    cdef object _excluded
    cdef Facts _facts
    cdef object _stock
    cdef object _headers_class
    cdef bint _is_known
    cdef object _new_answer
    cdef object _request_class
    cdef object _request_info
    cdef object _response_class
    cdef CallShapes _shapes
    cdef object _tracer
    cpdef begin(self, tuple args, dict kwargs)
    @cython.locals(begun=HttpxCall, shape=CallShape, is_silent=bint, url=str, server=str)
    cdef _begin(self, object request)
    cpdef bint enter(self, HttpxCall begun) except -1
    cpdef close(self, HttpxCall begun, object error)
    cpdef propagate(self, HttpxCall begun)
    @cython.locals(fields=dict, items=list)
    cdef _propagate(self, HttpxCall begun)
    @cython.locals(shape=CallShape, answer=ResponsePlan, key=tuple)
    cpdef record_response(self, HttpxCall begun, object response)
