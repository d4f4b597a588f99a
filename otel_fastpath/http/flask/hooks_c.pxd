# C types for the compiled twin of hooks.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.activations_c cimport Activation, OpenActivation
from otel_fastpath.http.servers.environs_c cimport EnvironShape, EnvironShapes
from otel_fastpath.http.server_c cimport RequestChooser, ServerRequest

cdef StockFunctions _before
cdef StockFunctions _request

cdef _current_request()

cdef class App(RequestChooser):
    cdef EnvironShapes _shapes
    cdef object _twin
    cdef public object exclusions
    cdef public object response_hook
    cdef public object wsgi_app
    @cython.locals(request=FlaskRequest)
    cdef find(self, object server, object environ)
    cpdef bint is_malformed(self, object request) except -1

cdef class FlaskRequest(ServerRequest):
    cdef public App app
    cdef public dict environ
    cdef public bint is_traced
    cdef public object start_response
    cpdef serve(self)
    cpdef record(self, double seconds)
    cpdef answer(self, object status, object response_headers)
    cdef _put_response(self, object request, object span, object status, object response_headers)

cdef class BeforeRequest:
    cdef object _comments
    cdef object _exclusions
    cdef object _hook
    cdef object _options
    cdef EnvironShapes _shapes
    cdef object _tracer
    cdef object _twin
    @cython.locals(shape=EnvironShape, attributes=dict)
    cdef dict _start_span(self, object request, dict environ, Activation activation)
    cdef _put_request_headers(self, object span, dict environ, dict attributes)
    cdef _activate(self, object request, dict environ, Activation activation)
    cdef dict _commented(self, object request)

cdef class Teardown:
    cdef object _twin
    cdef bint _leave_span(self, object environ, object error) except -1
    cdef bint _leave_span_after(self, object exc) except -1
