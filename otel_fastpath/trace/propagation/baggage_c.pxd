# C types for the compiled twin of baggage.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef Py_ssize_t _LONGEST
cdef Py_ssize_t _LONGEST_PAIR
cdef Py_ssize_t _MOST_COMMAS
cdef Py_ssize_t _MOST_PAIRS
cdef Facts _extracting
cdef Facts _injecting

cdef bint _has_usual_limits(object propagator) except -1
cdef bint _can_read(object propagator) except -1
cdef _read(object header, object context, dict entries)
cdef _written(object propagator, object context)
