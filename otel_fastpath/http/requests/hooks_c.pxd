# C types for the compiled twin of hooks.py.
import cython

from otel_fastpath.http.client_c cimport ClientInstrumentation
from otel_fastpath.http.clients.outgoing_c cimport CallShape, ClientCall

cdef Py_ssize_t _LONGEST

cdef class RequestsInstrumentation(ClientInstrumentation):
    cdef object _original
    cdef object _wrapped
    @cython.locals(shape=CallShape, begun=ClientCall)
    cdef prepare(self, object subject, tuple args, dict kwargs)
    cdef key_of(self, object response)
    cdef describe(self, object response, object seen, dict metric)

cdef _version(object response)
