# C types for the compiled twin of outer.py.
import cython

from otel_fastpath.wrapping.call_span_c cimport ConnectionPlan, QueryPlan, QueryCall

cpdef bint open_outer(QueryCall call, ConnectionPlan connection_plan, QueryPlan plan, object start_ns) except -1

cdef int _CONTEXT

@cython.locals(connection_plan=ConnectionPlan)
cpdef ConnectionPlan connection_plan_of(object active, object database, str name, object connection)

cdef class Statements:
    cdef object _active
    cdef object _database
    cdef bint _is_simple
    cdef str _name
    cdef object _others
    @cython.locals(connection_plan=ConnectionPlan, has_arguments=bint)
    cpdef bint enter(self, QueryCall call, tuple args, dict kwargs) except -1

cdef class Transactions:
    cdef object _active
    cdef dict _attributes
    cdef str _command
    cdef object _database
    cdef object _is_recorded_by_driver
    cdef bint _is_unrecorded
    cdef str _name
    @cython.locals(connection_plan=ConnectionPlan, plan=QueryPlan)
    cpdef bint enter(self, QueryCall call, tuple args, dict _kwargs) except -1
