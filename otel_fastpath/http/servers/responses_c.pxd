# C types for the compiled twin of responses.py.

cdef int _LOWEST
cdef int _HIGHEST

cdef class ResponseTelemetry:
    cdef public object code
    cdef public object error
    cdef public bint has_new
    cdef public bint has_old
    cpdef put(self, object span, object code, object text)
    cpdef bint show(self, object span, object code, object text) except -1
    cdef describe(self, dict attributes, object code, object text)
    cpdef put_status(self, object span, object status)

cpdef code_of(object status)
cdef bint _is_error(object code) except -1
cdef _not_a_number(object text)
cpdef record_error(object span, object error)
