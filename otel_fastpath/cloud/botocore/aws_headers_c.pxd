# C types for the compiled twin of aws_headers.py.
cdef Py_ssize_t _GIVEN
cdef Py_ssize_t _LENGTH

cpdef header_of(tuple given, dict named)

cpdef put_header(object prepared, bytes header)
