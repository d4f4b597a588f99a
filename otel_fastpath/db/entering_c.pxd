# C types for the compiled twin of entering.py.
import cython

from otel_fastpath.compiled.sharing_c cimport shared_flag
from otel_fastpath.wrapping.call_span_c cimport ConnectionPlan, QueryCall
from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef int _BEFORE_PARAMETERS

cdef bint _leave_more(QueryCall call) except -1

cdef class QueryMaker:
    cdef object _durations
    cdef bint _has_meter
    cdef str _place
    cdef Replacements _replacements
    cdef object _tracer
    cdef public shared_flag is_dropping
    @cython.locals(call=QueryCall, has_more=bint)
    cpdef QueryCall new(self)

cdef class Connections:
    cdef object _active
    cdef bint _is_curious
    cdef str _keeper
    cdef int _kind
    cdef str _name
    cdef object _database
    @cython.locals(connection_plan=ConnectionPlan, has_arguments=bint, has_begun=bint)
    cpdef bint enter(self, QueryCall call, tuple args, dict kwargs) except -1

cdef class Cursors:
    cdef object _active
    cdef bint _is_curious
    cdef str _connection
    cdef str _name
    cdef str _parameters
    cdef object _database
    cdef str _query
    cdef object _text_of
    @cython.locals(connection_plan=ConnectionPlan, has_arguments=bint, has_begun=bint)
    cpdef bint enter(self, QueryCall call, tuple args, dict kwargs) except -1

cdef class Commands:
    cdef object _active
    cdef object _database
    cdef object _holder_of
    cdef str _name
    @cython.locals(connection_plan=ConnectionPlan, has_begun=bint)
    cpdef bint enter(self, QueryCall call, tuple args, dict kwargs) except -1

cdef class Openings:
    cdef object _database
    cdef bint _is_curious
    cdef object _opener
    cdef Replacements _replacements
    @cython.locals(connection_plan=ConnectionPlan, has_begun=bint)
    cpdef bint enter(self, QueryCall call, object args, object kwargs) except -1

cdef class Started:
    cdef object _coroutine

cdef class Closing(Started):
    pass
