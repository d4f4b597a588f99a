# C types for the compiled twin of baggage_functions.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef list _READING
cdef Facts _reading
cdef Facts _setting

cdef dict _entries_in(object context)
