# C types for the compiled twin of outgoing.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef dict _trace_globals
cdef dict _metrics_globals
cdef tuple _SCHEMES

cdef class ResponsePlan:
    cdef public dict attributes
    cdef public object error
    cdef public dict metric
    cdef public BoundHistogram new
    cdef public BoundHistogram old
    cpdef record(self, double seconds)

cdef class CallShape:
    cdef public dict answers
    cdef public dict attributes
    cdef public Py_ssize_t before
    cdef public dict metric
    cdef public object name
    cpdef keep(self, object key, ResponsePlan answer)

cdef class CallShapes:
    cdef object _make
    cdef dict _shapes
    cdef tuple _url_keys
    @cython.locals(shape=CallShape, end=Py_ssize_t)
    cpdef CallShape find(self, str method, str url, str server=*)
    @cython.locals(shape=CallShape)
    cdef CallShape _new(self, tuple key, str url)
    @cython.locals(made=dict)
    cpdef dict attributes(self, CallShape shape, str url, dict captured=*)

cdef class ClientCall:
    cdef object _manager
    cdef object _scope
    cdef object _token
    cdef public ResponsePlan answer
    cdef public tuple args
    cdef public dict attributes
    cdef public object body
    cdef public object headers
    cdef public tuple hooked
    cdef public dict kwargs
    cdef public CallShape shape
    cdef public object span
    cpdef bint try_enter(self, object tracer) except -1
    cdef connect(self, bint has_hooks)
    cdef suppress(self)
    cdef resume(self)
    cpdef leave(self, object error)

cpdef str redact(str url)
@cython.locals(made=dict)
cpdef dict propagated()
@cython.locals(fields=dict)
cpdef propagate(object headers)
cpdef bint has_no_sdk(object tracer) except -1
cpdef suppress(object span)
cpdef resume(object token)
cpdef bint is_connecting() except -1
cpdef connecting(object span)
cpdef end_connecting(object manager)
