# C types for the compiled twin of asgi_messages.py.
from otel_fastpath.http.server_c cimport ServerRequest

cdef class MessageRequest(ServerRequest):
    cdef object _receive
    cdef object _send
    cdef public dict final
    cdef public dict scope
    cdef bint _handle_message(self, object message) except -1
    cpdef before_sending(self, object message, object kind)
    cpdef complete(self)
    cpdef bint is_malformed(self) except -1
