# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.fastapi.bound_instruments_c cimport ApplicationInstruments
from otel_fastpath.http.server_c cimport RequestChooser
from otel_fastpath.http.servers.activations_c cimport Activation
from otel_fastpath.http.servers.asgi_messages_c cimport MessageRequest

cdef StockFunctions _stock_functions
cdef int _LOWEST_ERROR

cdef class FastapiRequest(MessageRequest):
    cdef dict _attributes
    cdef bint _disconnected
    cdef ApplicationInstruments _instruments
    cdef bint _is_finished
    cdef bint _is_websocket
    cdef object _method
    cdef object _own
    cdef object _provider
    cdef object _telemetry
    cdef bint _with_logs
    @cython.locals(activation=Activation)
    cpdef start(self)
    cpdef announce(self, object receive, object send)
    cdef dict _describe(self, object authority)
    cpdef before_sending(self, object message, object kind)
    cpdef complete(self)
    cpdef end(self, object error)
    cdef _failure(self, object error)
    cdef _finish(self, object error)
    @cython.locals(failed=bint)
    cdef _show_outcome(self, object error)
    cpdef record(self, double seconds)
    cdef bint _put_outcome(self, dict attributes, object error) except -1
    cdef _forget(self)

cdef class _FastapiRequests(RequestChooser):
    cdef find(self, object own, object scope)
    cpdef bint is_malformed(self, object request) except -1

cdef _FastapiRequests _requests
