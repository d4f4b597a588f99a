# C types for the compiled twin of links.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef Facts _facts

cdef keep_links(SpanState span, object links)

@cython.locals(made=list)
cdef list _made_links(object limits, Py_ssize_t longest, object links)

cdef bint _is_valid(object context, object attributes) except -1

@cython.locals(kept=dict)
cdef _bounded(object limits, Py_ssize_t longest, object attributes)

cdef bint _try_add(SpanState span, object context, object attributes) except -1

cdef bint _has_room(SpanState span, object kept) except -1

cdef bint _append(SpanState span, object kept, object link) except -1
