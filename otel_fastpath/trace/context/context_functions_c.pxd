# C types for the compiled twin of context_functions.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef Facts _reading
cdef Facts _attaching
cdef Facts _detaching
cdef Facts _reading_span
cdef Facts _setting_span

cdef known_context(object context)
cdef attach_known(object context)
