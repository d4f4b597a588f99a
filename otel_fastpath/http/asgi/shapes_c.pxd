# C types for the compiled twin of shapes.py.
import cython

from otel_fastpath.http.servers.server_metrics_c cimport RequestLabels
from otel_fastpath.trace.planning.plan_c cimport LazyAttributes

cdef object asgi
cdef dict _asgi_globals
cdef tuple _OLD
cdef tuple _NEW
cdef tuple _OF_A_REQUEST

cdef class ScopeShape:
    cdef bint _has_new
    cdef bint _has_old
    cdef bint _is_of_one
    cdef str _prefix
    cdef dict _template
    cdef readonly bint is_usable
    cdef readonly RequestLabels labels
    @cython.locals(made=dict)
    cpdef dict attributes(self, dict scope, object user_agent, bint redacts=*)

cdef class Description(LazyAttributes):
    cdef object _middleware
    cdef object _route_function
    cdef dict _scope
    cdef ScopeShape _shape
    cdef object _user_agent
    cdef readonly object further
    cdef prepare(self, object middleware, dict scope, ScopeShape shape, object user_agent, object route_function)
    @cython.locals(attributes=dict)
    cdef make(self)

cdef tuple details(object middleware, dict scope, object route_function)

cpdef fill(dict attributes, tuple keys, object path, object user_agent, object address, object port)
cpdef redact_query(object query)
