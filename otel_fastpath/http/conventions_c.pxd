# C types for the compiled twin of conventions.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef object METHODS

cdef class StockFunctions:
    cdef Facts _facts
    cdef object _stock
    cpdef bint hold(self) except -1

cpdef bint is_suppressed() except -1
cpdef bint needs_redaction(str url) except -1
