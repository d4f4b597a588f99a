# C types for the compiled twin of calls.py.
import cython

from otel_fastpath.http.client_c cimport ClientInstrumentation
from otel_fastpath.http.clients.outgoing_c cimport CallShape, ClientCall

cdef class AiohttpClientInstrumentation(ClientInstrumentation):
    cpdef bint start(self, object context, object params) except -1
    cpdef stop(self, object context, object error)
    cpdef bint finish(self, object context, object params) except -1
    @cython.locals(shape=CallShape, begun=ClientCall)
    cdef prepare(self, object subject, tuple args, dict kwargs)
    cdef enter(self, object context)
    cdef end(self, object context, ClientCall begun, object response)
    cdef key_of(self, object response)
    cdef describe(self, object response, object seen, dict metric)
    cdef readable(self, object headers)
