# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.libraries.http.asgi.shapes_c cimport Outcome, Shape
from otel_fastpath.libraries.http.responses_c cimport Answer
from otel_fastpath.metrics.bound_c cimport BoundHistogram

cdef object default_timer
cdef object trace
cdef object Context
cdef object asgi
cdef object propagators
cdef object INVALID_SPAN
cdef object SpanKind
cdef object normalise_request_header_name
cdef object normalise_response_header_name
cdef object faults
cdef object PLACE
cdef object _SERVER
cdef object _INTERNAL

cdef class Request(Answer):
    cdef dict _attributes
    cdef dict _found
    cdef bint _is_http
    cdef object _length
    cdef object _middleware
    cdef object _name
    cdef object _parent
    cdef object _receive
    cdef dict _scope
    cdef object _send
    cdef object _send_name
    cdef Shape _shape
    cdef double _started
    cdef object _token
    cdef bint _trailers
    cdef readonly object span
    cdef prepare(self, object middleware, dict scope, dict found, object name, dict attributes, Shape shape)
    cdef start(self)
    cdef _count(self, int number)
    cdef _capture(self, object span, object names)
    cpdef announce(self, object receive, object send)
    cdef _opened(self, str what)
    cdef _describe_receiving(self, object span, object message)
    cdef bint _announced(self, object message) except -1
    cdef _end_span(self)
    cdef _before_sending(self, object message)
    cdef _make_send_span(self, object message, object kind, object code, object text)
    cdef _describe_sending(self, object span, object message, object kind, object code, object text)
    cpdef finish(self, object error)
    @cython.locals(outcome=Outcome, seconds=double, size=BoundHistogram)
    cdef _measure(self)
    cdef _leave(self, object error)

cpdef code_of(object status)
