# C types for the compiled twin of outer.py.
import cython

from otel_fastpath.libraries.call_span_c cimport Link, Plan, Query

@cython.locals(call=Query)
cpdef open_outer(Link link, Plan plan, object start_ns)

cdef object faults
cdef int _CONTEXT

cdef class Statements:
    cdef object _active
    cdef object _database
    cdef bint _is_simple
    cdef str _name
    @cython.locals(link=Link, has_arguments=bint)
    cpdef enter(self, tuple args, dict kwargs)
