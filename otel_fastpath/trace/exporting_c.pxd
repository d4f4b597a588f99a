# C types for the compiled twin of exporting.py.
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef Facts _exporting

cdef bint _try_export(object processor, SpanState span, bint counts_first) except -1

cdef _export(object processor, SpanState span)
