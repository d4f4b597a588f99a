# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.wrapping.call_span_c cimport ConnectionPlan, QueryPlan, QueryCall

cdef int _BEFORE_PARAMETERS

@cython.locals(connection_plan=ConnectionPlan, has=bint)
cpdef bint enter(QueryCall call, tuple args, dict kwargs) except -1

cdef bint _open(QueryCall call, ConnectionPlan connection_plan, QueryPlan plan) except -1


@cython.locals(connection_plan=ConnectionPlan, held=dict)
cpdef bint enter_page(QueryCall call, tuple args, dict _kwargs) except -1

# A call that is ended here may be of the other core: it may have begun before the set-up changed.
@cython.locals(held=dict)
cpdef after_submit(object call, object future)

@cython.locals(held=dict)
cpdef end_with_response(object future, object response)

@cython.locals(held=dict)
cpdef end_with_error(object future, object error)

cdef _end_succeeded(object call, object future, object response)

cpdef end_failed(object call, object future, object error)

cdef _put_end(object call, object future)

@cython.locals(found=tuple, held=dict)
cdef _end_of(object call, object future)
