# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.fastapi.bound_instruments_c cimport ApplicationInstruments
from otel_fastpath.metrics.instruments.bound_c cimport BoundCounter

cdef StockFunctions _stock_functions
cdef object api
cdef object asgi
cdef int _LOWEST_ERROR

cdef class Request:
    cdef BoundCounter _active
    cdef dict _attributes
    cdef dict _base
    cdef bint _disconnected
    cdef bint _finished
    cdef bint _is_counted
    cdef ApplicationInstruments _kept
    cdef object _method
    cdef object _own
    cdef object _parent
    cdef object _provider
    cdef object _receive
    cdef dict _scope
    cdef object _send
    cdef object _span
    cdef double _started
    cdef object _telemetry
    cdef object _token
    cdef bint _trailers
    cdef bint _with_logs
    cdef readonly bint is_websocket
    cpdef start(self, object receive, object send)
    cpdef drop(self)
    cdef _uncount(self)
    cdef _restore(self)
    cdef _enter(self)
    cdef dict _describe(self, object authority)
    cdef _count(self, int number)
    cdef bint _handle_message(self, object message) except -1
    cpdef fail(self, object error)
    cpdef complete(self)
    cdef _finish(self, object error)
    @cython.locals(attributes=dict, failed=bint)
    cdef _record(self, object error)
    cdef _end_span(self)
    cdef _end_open_span(self)
    cdef bint _put_outcome(self, dict attributes, object error) except -1
    cpdef close(self)

cdef _chosen_or_none(object own, object scope, object legacy_otel)
cdef _start(Request request, object receive, object send)
cdef _instead(object error)
cdef _chosen(object own, object scope, object legacy_otel)
