# C types for the compiled twin of activations.py.

cdef class Activation:
    cdef object _below
    cdef bint _is_ended
    cdef bint _is_left
    cdef object _remote
    cdef object _token
    cdef public object span
    cpdef start(self, object tracer, object name, dict environ, dict attributes, object start_time=*)
    cpdef enter_remote(self, object context)
    cpdef activate(self, object key=*, object value=*)
    cpdef deactivate(self)
    cpdef suspend(self)
    cpdef resume(self)
    cpdef record(self, object error)
    cpdef leave(self, object error)
    cdef _leave(self, object error)
    cpdef end(self)

cdef class OpenActivation(Activation):
    pass
