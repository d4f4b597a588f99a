# C types for the compiled twin of aws_xray.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef Py_ssize_t _LONGEST
cdef int _TRACE_LENGTH
cdef int _SPAN_LENGTH
cdef Py_ssize_t _USUAL_LENGTH
cdef Facts _extracting
cdef Facts _injecting

cdef _of(str header, object context)
cdef _written(object context)
