# C types for the compiled twin of by_name.py.
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.patching.plans_c cimport Plan

cdef Facts _scopes

cdef class NamedPlan(Plan):
    cdef readonly dict known
    cdef readonly object made
