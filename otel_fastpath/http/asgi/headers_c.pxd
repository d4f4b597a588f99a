# C types for the compiled twin of headers.py.
import cython

cdef object HOST
cdef object USER_AGENT
cdef dict _WANTED
cdef bytes _HOST
cdef bytes _CONTENT_LENGTH

@cython.locals(found=dict)
cpdef dict read(object headers)
@cython.locals(raw=bytes)
cpdef decode_header(object value)
cpdef first_host(object headers)
cpdef content_length(object headers)
@cython.locals(length=Py_ssize_t)
cdef _first(object headers, bytes name)
cpdef number(object value)
cpdef remote_context(object scope, dict found)
