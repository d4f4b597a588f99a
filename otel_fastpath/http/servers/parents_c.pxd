# C types for the compiled twin of parents.py.
cdef object context_api
cdef object propagate
cdef object trace
cdef object Context
cdef object INVALID_SPAN
cdef object SpanKind
cdef object _SERVER
cdef object _INTERNAL

cpdef remote(dict environ)
cpdef tuple start(object tracer, object name, dict environ, dict attributes, object start_time=*)
