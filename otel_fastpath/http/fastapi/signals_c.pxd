# C types for the compiled twin of signals.py.

cdef object api
cdef dict _logs_globals

cdef _given(object config, object name, object get)
cpdef tracing_provider(object config)
cpdef bint is_metering(object config, object scope) except -1
cpdef bint is_logging(object config) except -1
