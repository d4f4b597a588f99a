# C types for the compiled twin of aws_headers.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef Facts _facts
cdef Py_ssize_t _GIVEN
cdef Py_ssize_t _LENGTH
cdef str _LOWER

@cython.locals(entry=tuple, name=str)
cpdef header_of(tuple given, dict named)

cpdef put_header(object prepared, bytes header)
