# C types for the compiled twin of client.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.clients.outgoing_c cimport CallShape, CallShapes, ClientCall, ResponsePlan
from otel_fastpath.patching.plans_c cimport Plan

cdef object BEGINNING

cdef class ClientInstrumentation(Plan):
    cdef StockFunctions _stock
    cdef public object captured_request
    cdef public object captured_response
    cdef public object excluded
    cdef public bint has_hooks
    cdef public bint is_new
    cdef public bint is_suppressing
    cdef public object mode
    cdef public object new
    cdef public object old
    cdef public object request_hook
    cdef public object response_class
    cdef public object response_hook
    cdef public object sensitive
    cdef public CallShapes shapes
    cdef public bint shows_peer
    cdef public object tracer
    cpdef begin(self, object subject, tuple args, dict kwargs)
    cpdef call(self, ClientCall begun, object wrapped, tuple args, dict kwargs)
    @cython.locals(shape=CallShape, answer=ResponsePlan)
    cdef record_response(self, ClientCall begun, object response)
    cdef measure(self, ClientCall begun, object response, double seconds)
    cdef record_error(self, ClientCall begun, object error, double seconds)
    cdef response_of(self, object error)
    cdef show(self, object response)
    cdef prepare(self, object subject, tuple args, dict kwargs)
    cdef describe(self, object response, object seen, dict metric)
    cdef key_of(self, object response)
    cdef info_of(self, object response)
    cdef propagate(self, ClientCall begun)
    cdef dict metric_of(self, ClientCall begun)
    cdef readable(self, object headers)
    cdef dict attributes_of(self, ResponsePlan answer, object response)
    cdef dict captured_of(self, object response)
    cdef dict captured_of_request(self, object headers)
    @cython.locals(begun=ClientCall)
    cdef ClientCall new_call(self, CallShape shape, tuple args, dict kwargs)
    cdef ResponsePlan new_answer(self, ClientCall begun, object response)
    cdef _show_peer(self, dict attributes, object name, object value)
