# What other modules use of facts_c.pyx.
cimport cython

from otel_fastpath.compiled.sharing_c cimport shared_count, shared_size

# How many changes of watched classes and modules CPython has reported.
cdef shared_count changes

cdef object ABSENT

cdef class Instance:
    cdef list absent
    cdef Instance after
    cdef dict fields
    cdef object name
    cdef shared_size size
    cdef object value

@cython.final
cdef class Facts:
    cdef Instance instances
    cdef public tuple items
    cdef tuple looked_at
    cdef shared_count seen
    cdef shared_count missed
    cpdef renew(self, items)
    cdef tuple _known(self)
    cdef bint _recheck(self) except -1
    cdef bint _miss(self, unsigned long before, bint is_watched) except -1
    cdef bint _are_same(self, Instance instance) except -1

    cdef inline bint hold(self) except -1:
        if self.seen != changes and (self.missed == changes or not self._recheck()):
            return False
        return self.instances is None or self._are_same(self.instances)
