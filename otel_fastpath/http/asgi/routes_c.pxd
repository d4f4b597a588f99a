# C types for the compiled twin of routes.py.
import cython

from otel_fastpath.patching.plans_c cimport Plan, PlanStore

cdef int _UNICODE

cdef class Framework:
    cdef readonly object ask
    cdef readonly object flatten
    cdef readonly object full
    cdef readonly str key
    cdef readonly tuple kinds
    cdef readonly tuple known
    cdef readonly object partial
    cdef readonly object request_path
    cdef readonly PlanStore tables

cdef class RouteTable(Plan):
    cdef list _all
    cdef list _anywhere
    cdef dict _by_segment
    cdef list _elsewhere
    cdef Framework _framework
    cdef list _included
    cdef tuple _matches
    cdef dict _places
    cdef list _rests_on
    cdef list _routes
    cdef _include(self, object route, object number)
    cdef bint is_of(self, Framework framework, tuple matches) except -1
    @cython.locals(known=list, index=Py_ssize_t, number=Py_ssize_t, included=Py_ssize_t)
    cdef bint is_current(self, list routes, Py_ssize_t place) except -1
    @cython.locals(framework=Framework, is_http=bint, is_plain=bint)
    cdef tuple find(self, object scope)
    @cython.locals(text=str, end=Py_ssize_t)
    cdef list _candidates(self, object path)
    cdef list _of(self, str segment)

cdef bint _is_plain(object route, tuple plain) except -1
cdef _static_segment(object path, object regex)

@cython.locals(routes=list, matches=tuple, table=RouteTable, place=Py_ssize_t)
cpdef route_of(object scope, object original, Framework framework)
