# C types for the compiled twin of confluent_hooks.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef Py_ssize_t _HEADERS
cdef dict _addresses
cdef dict _globals
cdef dict _utils_globals
cdef Replacements _replacements

cpdef bint are_known() except -1

@cython.locals(is_written=cython.bint)
cdef _inject(object headers, object span)

cdef _bind_receiving(object original, object has_many)

cdef _attributes_of(object instance, object records, bint has_many)

@cython.locals(links=list)
cdef _links(object records)

cdef _start(object tracer, object instance, dict found, object links)

cdef _make_current(object instance)

@cython.locals(found=dict)
cdef _attributes(object topic, object instance, object operation, object partition, object offset)

cdef _address(object instance)
