# C types for the compiled twin of calls.py.
import cython

from otel_fastpath.http.client_c cimport ClientInstrumentation
from otel_fastpath.http.clients.outgoing_c cimport CallShape, ClientCall, ResponsePlan

cdef class HttpxInstrumentation(ClientInstrumentation):
    cdef bint _is_known
    cdef object _module
    cdef tuple _tail
    cdef public dict options
    @cython.locals(begun=ClientCall, shape=CallShape, is_silent=bint)
    cdef prepare(self, object subject, tuple args, dict kwargs)
    cdef tuple _url_of(self, object url)
    @cython.locals(fields=dict, items=list)
    cdef propagate(self, ClientCall begun)
    cdef key_of(self, object response)
    cdef describe(self, object response, object seen, dict metric)
    cdef info_of(self, object response)
    cdef dict metric_of(self, ClientCall begun)
    cdef readable(self, object headers)
    cdef dict attributes_of(self, ResponsePlan answer, object response)
