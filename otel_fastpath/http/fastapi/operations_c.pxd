# C types for the compiled twin of operations.py.

cdef object api
cdef tuple _EXPECTED

cdef class FastapiOperation:
    cdef object _function
    cdef object _name
    cdef object _scope
    cdef object _span
    cdef object _tracer
    cdef _describe(self, object error)
    cdef _leave(self, object scope, object kind, object error, object traceback)
