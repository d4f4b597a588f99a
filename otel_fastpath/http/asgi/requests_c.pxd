# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.asgi.shapes_c cimport Description, ScopeShape
from otel_fastpath.http.server_c cimport ServerRequest
from otel_fastpath.http.servers.asgi_messages_c cimport MessageRequest
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics, BoundOutcome
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef dict _propagators_globals
cdef object PLACE
cdef int _LOWEST
cdef int _HIGHEST

cdef class AsgiRequest(MessageRequest):
    cdef Description _about
    cdef dict _found
    cdef bint _is_http
    cdef bint _is_silent
    cdef object _length
    cdef object _middleware
    cdef object _request_hook
    cdef object _response_hook
    cdef object _send_name
    cdef bint _sends
    cdef object _tracer
    cdef readonly bint has_hooks
    cdef describe_as(self, object middleware, dict scope, dict found, Description about, ApplicationMetrics series, ScopeShape shape)
    @cython.locals(activation=Activation)
    cpdef start(self)
    cdef _capture(self, object source, object names, object normalise)
    cpdef announce(self, object receive, object send)
    cdef _scope_of(self, str what)
    cdef _name_of(self, str what)
    cdef _describe_receiving(self, object span, object message)
    cpdef before_sending(self, object message, object kind)
    cdef _make_send_span(self, object message, object kind, object code, object text)
    cdef _describe_sending(self, object span, object message, object kind, object code, object text)
    @cython.locals(outcome=BoundOutcome, size=BoundHistogram)
    cpdef record(self, double seconds)
    cpdef uncount(self)
    cpdef end(self, object error)
