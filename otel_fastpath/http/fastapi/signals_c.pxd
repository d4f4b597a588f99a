# C types for the compiled twin of signals.py.

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _logs_globals
cdef Facts _unreplaced

cdef _given(object config, object name, object get)
cpdef tracing_provider(object config)
cpdef bint is_metering(object config, object scope) except -1
cpdef bint is_logging(object config) except -1
