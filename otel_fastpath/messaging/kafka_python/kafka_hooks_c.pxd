# C types for the compiled twin of kafka_hooks.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef dict _globals
cdef Replacements _replacements

cpdef bint are_known() except -1
cdef Py_ssize_t _HEADERS

@cython.locals(is_written=cython.bint)
cdef _inject(object headers, object span)

cdef _describe_sent(object span, object topic, object servers, object future)

cdef bint _receive(object tracer, object instance, object record) except -1

@cython.locals(found=dict)
cdef dict _attributes(object topic, object partition, object servers)
