# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.asgi.shapes_c cimport Description, OutcomeMetrics, ScopeShape
from otel_fastpath.http.servers.responses_c cimport ResponseTelemetry
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef object asgi
cdef dict _propagators_globals
cdef object PLACE
cdef int _LOWEST
cdef int _HIGHEST

cdef class Request(ResponseTelemetry):
    cdef Description _about
    cdef dict _found
    cdef bint _is_active
    cdef bint _is_http
    cdef bint _is_silent
    cdef object _length
    cdef object _middleware
    cdef object _parent
    cdef object _receive
    cdef object _request_hook
    cdef object _response_hook
    cdef dict _scope
    cdef object _send
    cdef object _send_name
    cdef bint _sends
    cdef ScopeShape _shape
    cdef double _started
    cdef object _token
    cdef object _tracer
    cdef bint _trailers
    cdef readonly bint has_hooks
    cdef readonly object span
    cdef prepare(self, object middleware, dict scope, dict found, Description about, ScopeShape shape)
    cdef start(self)
    cdef drop(self)
    cdef _finish(self, object error)
    cdef _restore(self)
    cdef _count(self, object number)
    cdef _capture(self, object span, object names)
    cpdef announce(self, object receive, object send)
    cdef _scope_of(self, str what)
    cdef _name_of(self, str what)
    cdef _describe_receiving(self, object span, object message)
    cdef bint _handle_message(self, object message) except -1
    cdef _end_span(self)
    cdef _before_sending(self, object message, object kind)
    cdef _make_send_span(self, object message, object kind, object code, object text)
    cdef _describe_sending(self, object span, object message, object kind, object code, object text)
    cpdef finish(self, object error)
    @cython.locals(attributes=dict, outcome=OutcomeMetrics, seconds=double, size=BoundHistogram)
    cdef _measure(self)
    cdef _leave(self, object error)
