# C types for the compiled twin of suppressing.py.
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.context.scope_c cimport Scope

cdef Facts _suppressing
cdef Facts _asking
cdef Facts _asking_for_http

cdef class Suppression(Scope):
    cdef _make_as_stock(self)

cdef class OpenSuppression(Suppression):
    pass


cdef bint _is_any_true(object context, tuple keys) except -1
