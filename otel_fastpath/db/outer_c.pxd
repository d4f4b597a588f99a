# C types for the compiled twin of outer.py.
import cython

from otel_fastpath.wrapping.call_span_c cimport Link, QueryPlan, QueryCall

cpdef bint open_outer(QueryCall call, Link link, QueryPlan plan, object start_ns) except -1

cdef int _CONTEXT

@cython.locals(link=Link)
cpdef Link link_of(object active, object database, str name, object connection)

cdef class Statements:
    cdef object _active
    cdef object _database
    cdef bint _is_simple
    cdef str _name
    cdef object _others
    @cython.locals(link=Link, has_arguments=bint)
    cpdef bint enter(self, QueryCall call, tuple args, dict kwargs) except -1

cdef class Transactions:
    cdef object _active
    cdef dict _attributes
    cdef str _command
    cdef object _database
    cdef object _is_told_by_driver
    cdef bint _is_untold
    cdef str _name
    @cython.locals(link=Link, plan=QueryPlan)
    cpdef bint enter(self, QueryCall call, tuple args, dict _kwargs) except -1
