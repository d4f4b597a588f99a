# C types for the compiled twin of requests.py.
import cython

from otel_fastpath.libraries.call_span_c cimport Link, Plan, Query

cdef object calls
cdef object statements
cdef object DATABASE
cdef object CALL
cdef object LINK
cdef object OUTCOME
cdef object PLAN
cdef object RETRIES
cdef object SPECULATIVE
cdef object faults
cdef int _BEFORE_PARAMETERS
cdef object _PENDING

@cython.locals(link=Link, has=bint)
cpdef enter(tuple args, dict kwargs)

@cython.locals(call=Query)
cdef _opened(Link link, Plan plan)

@cython.locals(call=Query)
cdef _enter_batch(Link link, object statement, object session)

@cython.locals(link=Link, held=dict)
cpdef enter_page(object future)

# A call that is ended here may be of the other core: it may have begun before the set-up changed.
@cython.locals(held=dict)
cpdef submitted(object call, object future)

@cython.locals(held=dict)
cpdef received(object future, object response)

@cython.locals(held=dict)
cpdef refused(object future, object error)

cdef _succeeded(object call, object future, object response)

cpdef failed(object call, object future, object error)

cdef _tell(object call, object future)

@cython.locals(found=tuple, held=dict)
cdef _end_of(object call, object future)
