# C types for the compiled twin of identity.py.

cdef tuple FLAGS
cdef int INVALID
cdef int REPLACED

cdef class Identity:
    cdef public object drawn
    cdef public object made_context
    cpdef span_context(self)
    cdef _made_plainly(self)
    cdef public int trace_flags
    cdef public object trace
    cdef public object trace_state

cdef class Dropped(Identity):
    pass
