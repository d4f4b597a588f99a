# C types for the compiled twin of conventions.py.
cimport cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef object METHODS

cdef tuple _LISTS
cdef Py_ssize_t _LENGTH

cdef list _OLD
cdef list _NEW
cdef list _ACTIVE_OLD
cdef list _ACTIVE_NEW
cdef list _CLIENT_OLD
cdef list _CLIENT_NEW

cdef Py_ssize_t _count_listed() except -1

cdef class StockFunctions:
    cdef Facts _facts
    cdef bint _is_measured
    cdef object _stock
    cpdef bint hold(self) except -1

cpdef bint is_suppressed() except -1
