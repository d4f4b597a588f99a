# C types for the compiled twin of headers.py.
import cython

cdef object propagate
cdef object asgi
cdef object HOST
cdef object USER_AGENT
cdef dict _WANTED
cdef int _SHORTEST
cdef int _LONGEST
cdef int _LENGTH_OF_CONTENT_LENGTH

@cython.locals(found=dict, length=Py_ssize_t)
cpdef dict read(object headers)
cpdef decoded(object value)
cpdef content_length(object headers)
cpdef number(object text)
cpdef remote_context(object scope, dict found)
