# C types for the compiled twin of serving.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.asgi.requests_c cimport Request
from otel_fastpath.http.asgi.shapes_c cimport Description, ScopeShape
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics

cdef dict _asgi_globals
cdef dict _propagators_globals
cdef dict _trace_globals
cdef dict _metrics_globals
cdef object asgi
cdef int _MOST
cdef int _LONGEST
cdef StockFunctions _collecting
cdef StockFunctions _stock_functions
cdef tuple _OVERRIDABLE
cdef dict _stock

cdef class MiddlewarePlan:
    cdef object _details
    cdef object _middleware
    cdef dict _module
    cdef dict _outcomes
    cdef object _sanitize
    cdef ApplicationMetrics _series
    cdef dict _shapes
    cdef dict _synthetic
    cdef readonly bint is_stock
    cdef bint is_of(self, object middleware, dict attributes) except -1
    @cython.locals(shape=ScopeShape)
    cpdef ScopeShape shape(self, dict scope, dict found, object user_agent)
    cdef ScopeShape _shape_of_one(self, dict scope, object user_agent)
    cdef route_function(self)
    cdef bint waits(self, ScopeShape shape, object route_function) except -1
    cdef _synthetic_type(self, object user_agent)

cdef dict _known_module(object details)

cdef _decodable(dict scope, dict found)

cdef _chosen_or_none(object middleware, object scope)
cdef _start(Request request)
cdef _instead(object error)
@cython.locals(found=dict)
cdef _chosen(object middleware, object scope)
cdef bint _is_excluded(object urls, dict scope) except -1
@cython.locals(served=MiddlewarePlan, shape=ScopeShape, about=Description, request=Request, attributes=dict)
cdef _request(object middleware, dict scope, dict found)
cdef bint _is_idle(object middleware) except -1
cdef _without_sdk(dict scope, dict found)
cdef _url(dict scope)
