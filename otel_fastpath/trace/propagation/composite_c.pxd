# C types for the compiled twin of composite.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef Facts _extracting
cdef Facts _injecting

cpdef bint are_usual(object parts) except -1
cdef _read(dict carrier, object context)
cdef _written(object context)
