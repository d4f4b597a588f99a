# C types for the compiled twin of replacements.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef class Replacements:
    cdef Facts _facts
    cdef object _stock
    cpdef bint exist(self) except -1
