# C types for the compiled twin of serving.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.asgi.requests_c cimport AsgiRequest
from otel_fastpath.http.asgi.shapes_c cimport Description, ScopeShape
from otel_fastpath.http.server_c cimport RequestChooser
from otel_fastpath.http.servers.server_metrics_c cimport ApplicationMetrics

cdef dict _asgi_globals
cdef dict _propagators_globals
cdef dict _trace_globals
cdef dict _metrics_globals
cdef bint _ASKS
cdef int _MOST
cdef int _LONGEST
cdef StockFunctions _collecting
cdef StockFunctions _stock_functions
cdef tuple _OVERRIDABLE

cdef class MiddlewarePlan(ApplicationMetrics):
    cdef object _details
    cdef dict _module
    cdef object _sanitize
    cdef dict _shapes
    cdef dict _synthetic
    cdef readonly bint is_stock
    @cython.locals(shape=ScopeShape)
    cpdef ScopeShape shape(self, dict scope, dict found, object user_agent)
    cdef ScopeShape _shape_of_one(self, dict scope, object user_agent)
    cdef route_function(self, object details)
    cdef bint waits(self, object details, object route_function) except -1
    cdef _synthetic_type(self, object user_agent)

cdef dict _known_module(object details)

cdef _decodable(dict scope, dict found)

cdef class _AsgiRequests(RequestChooser):
    @cython.locals(found=dict)
    cdef find(self, object middleware, object scope)
    cpdef bint is_malformed(self, object request) except -1

cdef _AsgiRequests _requests

@cython.locals(plan=MiddlewarePlan, shape=ScopeShape, about=Description, request=AsgiRequest)
cdef _request(object middleware, dict scope, dict found)
cdef bint _is_idle(object middleware) except -1
cdef _without_sdk(dict scope, dict found)
cdef _url(dict scope)
