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
cpdef bint enter(Query call, tuple args, dict kwargs) except -1

cdef bint _open(Query call, Link link, Plan plan) except -1

cdef bint _enter_batch(Query call, Link link, object statement, object session) except -1

@cython.locals(link=Link, held=dict)
cpdef bint enter_page(Query call, object future) except -1

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
