# C types for the compiled twin of activations.py.

cdef object context_api
cdef object Context
cdef object _SPAN_KEY

cdef class Activation:
    cdef object _below
    cdef bint _is_left
    cdef object _token
    cdef public object span
    cdef _take_back(self)
    cpdef leave(self, object error)
