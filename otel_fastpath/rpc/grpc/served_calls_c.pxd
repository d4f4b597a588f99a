# C types for the compiled twin of served_calls.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _globals
cdef dict _methods
cdef Py_ssize_t _FIRST
cdef tuple _LOCAL
cdef Facts _making

cdef class RemoteContext:
    cdef object _entered
    cdef object _interceptor
    cdef object _original
    cdef object _servicer_context
    cdef object _token

cdef _remote(dict found)

@cython.locals(attributes=dict, of_method=dict, start=Py_ssize_t, port=Py_ssize_t, end=Py_ssize_t, ip=str)
cdef dict _describe(object method, object agent, str peer)

@cython.locals(index=Py_ssize_t)
cdef _wrapped(object handler, object continuation)
