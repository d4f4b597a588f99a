# C types for the compiled twin of signals.py.

cdef object functools
cdef object _logs
cdef object metrics
cdef object trace
cdef object VARIABLES
cdef object api
cdef dict _logs_globals
cdef object _LOGGER_PROVIDER
cdef object _get_logger_provider
cdef object _is_kind

cdef _given(object config, object name, object get)
cpdef tracing_provider(object config)
cpdef bint is_metering(object config, object scope) except -1
cpdef bint is_logging(object config) except -1
