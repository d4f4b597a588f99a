# C types for the compiled twin of known_loggers.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef str _CACHED
cdef Facts _finding

@cython.locals(fields=dict)
cdef _known(object provider, object name, object version, object schema_url)
