# C types for the compiled twin of activations.py.

cdef object faults
cdef object _PLACE
cdef object Context

cdef class Activation:
    cdef object _below
    cdef bint _is_left
    cdef object _token
    cdef public object span
    cpdef leave(self, object error)
