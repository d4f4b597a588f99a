# C types for the compiled twin of plans.py.
from otel_fastpath.compiled.sharing_c cimport shared_size

cdef class Plan:
    cdef public shared_size owner

cdef class PlannedValues(Plan):
    cdef public tuple values

cdef class PlanStore:
    cdef object _most
    cdef str _name
    cdef dict _owners
    cdef object _sights
    cpdef keep(self, object plan, object owner)
