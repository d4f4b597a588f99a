# C types for the compiled twin of switches.py.
from otel_fastpath.compiled.sharing_c cimport shared_flag

cdef class Switch:
    cdef public shared_flag inert

cdef make_switchable(object original, object function, Switch switch)
