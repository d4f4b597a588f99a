# C types for the compiled twin of hooks.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef object getclosurevars
cdef object default_timer
cdef object SimpleNamespace
cdef object semconv
cdef object stock
cdef object ERROR_TYPE
cdef object SpanKind
cdef object get_custom_header_attributes
cdef object normalise_request_header_name
cdef object normalise_response_header_name
cdef object kinds
cdef object LONGEST
cdef object keep
cdef object METHODS
cdef object search_of
cdef object bind
cdef object faults
cdef object STOCK
cdef object _STOCK
cdef object _BEGINNING
cdef object UNKNOWN
cdef Facts _facts
cdef object MOST_ANSWERS
cdef object _BEGINNING
cdef object _END
cdef object _CLIENT
cdef object _HTTP_1_1
cdef tuple _PARAMETERS
cdef Py_ssize_t _HEADERS

cdef class _Urllib3ResponsePlan:
    cdef public dict attributes
    cdef public object error
    cdef public BoundHistogram new
    cdef public BoundHistogram old
    cdef public tuple request_sizes
    cdef public tuple response_sizes
    @cython.locals(histogram=BoundHistogram)
    cdef record(self, double seconds, object request_size, object response_size)

cdef tuple _arguments(tuple args, dict kwargs)

cdef class _PoolShape:
    cdef public dict answers
    cdef public dict attributes
    cdef public dict metric
    cdef public str method
    cdef public str server

cdef class _Urllib3Call:
    cdef public tuple args
    cdef public dict attributes
    cdef public object body
    cdef public object headers
    cdef public object info
    cdef public dict kwargs
    cdef public _PoolShape shape

cdef class Urllib3Instrumentation:
    cdef object _captured_request
    cdef object _captured_response
    cdef object _excluded
    cdef bint _has_hooks
    cdef tuple _histograms
    cdef tuple _keys
    cdef object _mode
    cdef object _original
    cdef object _request_hook
    cdef object _response_hook
    cdef object _sensitive
    cdef dict _shapes
    cdef object _tracer
    cdef object _url_filter
    @cython.locals(begun=_Urllib3Call)
    cpdef urlopen(self, object wrapped, object pool, tuple args, dict kwargs)
    @cython.locals(answer=_Urllib3ResponsePlan)
    cdef _open(self, _Urllib3Call begun, object span, object wrapped, object pool)
    cdef begin(self, object pool, tuple args, dict kwargs)
    @cython.locals(begun=_Urllib3Call, given=tuple, shape=_PoolShape, attributes=dict)
    cdef _begin(self, object pool, tuple args, dict kwargs)
    @cython.locals(shape=_PoolShape)
    cdef _PoolShape _shape(self, str method, object pool)
    cdef _PoolShape _new_shape(self, tuple key)
    @cython.locals(answer=_Urllib3ResponsePlan)
    cdef _Urllib3ResponsePlan record_response(self, _PoolShape shape, object span, object response)
    cdef end(self, _Urllib3ResponsePlan answer, _Urllib3Call begun, object span, object response, double seconds)
    @cython.locals(answer=_Urllib3ResponsePlan)
    cdef record_error(self, _PoolShape shape, object span, object error, double seconds)
    cdef _Urllib3ResponsePlan _new_answer(self, _PoolShape shape, tuple key)
    cdef dict _captured(self, object headers, object names, object normalise)
