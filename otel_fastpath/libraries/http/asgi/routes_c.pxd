# C types for the compiled twin of routes.py.
import cython

cdef object faults
cdef object _PLACE
cdef object _TABLE

cdef class Framework:
    cdef readonly object ask
    cdef readonly object flatten
    cdef readonly object full
    cdef readonly object partial
    cdef readonly object path
    cdef readonly object pattern
    cdef readonly object plain

cdef class Table:
    cdef list _all
    cdef dict _by_segment
    cdef list _elsewhere
    cdef Framework _framework
    cdef list _included
    cdef list _routes
    cdef bint is_current(self, object routes) except -1
    @cython.locals(framework=Framework, path=str, is_http=bint)
    cpdef path(self, object scope)
    cdef list _candidates(self, str path)

cdef _static_segment(object route, Framework framework)

@cython.locals(table=Table)
cpdef route_of(object scope, object original, Framework framework)
