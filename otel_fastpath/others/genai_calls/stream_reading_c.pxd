# C types for the compiled twin of stream_reading.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef Facts _read

@cython.locals(fields=dict)
cdef bint _is_usual(object stream, object kind) except -1

cdef _take_chunk(object stream, object chunk)
