# C types for the compiled twin of hooks.py.
import cython

from otel_fastpath.http.client_c cimport ClientInstrumentation
from otel_fastpath.http.clients.outgoing_c cimport CallShape, ClientCall, ResponsePlan
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef tuple _PARAMETERS
cdef Py_ssize_t _HEADERS

cdef class _Urllib3ResponsePlan(ResponsePlan):
    cdef tuple _request_sizes
    cdef tuple _response_sizes
    @cython.locals(histogram=BoundHistogram)
    cdef measure(self, double seconds, object request_size, object response_size)

cdef tuple _arguments(tuple args, dict kwargs)

cdef class _PoolShape(CallShape):
    cdef public str server

cdef class Urllib3Instrumentation(ClientInstrumentation):
    cdef object _original
    cdef dict _pool_shapes
    cdef list _sizes
    cdef object _url_filter
    cpdef urlopen(self, object wrapped, object pool, tuple args, dict kwargs)
    @cython.locals(begun=ClientCall, given=tuple, shape=_PoolShape)
    cdef prepare(self, object subject, tuple args, dict kwargs)
    @cython.locals(shape=_PoolShape)
    cdef _PoolShape _pool_shape(self, str method, object pool)
    cdef _PoolShape _new_pool_shape(self, tuple key)
    cdef key_of(self, object response)
    cdef response_of(self, object error)
    cdef dict attributes_of(self, ResponsePlan answer, object response)
    @cython.locals(answer=_Urllib3ResponsePlan)
    cdef measure(self, ClientCall begun, object response, double seconds)
    cdef ResponsePlan new_answer(self, ClientCall begun, object response)
