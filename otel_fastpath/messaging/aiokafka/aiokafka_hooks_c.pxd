# C types for the compiled twin of aiokafka_hooks.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef dict _globals
cdef frozenset _PLAIN
cdef frozenset _SERIALIZED
cdef Py_ssize_t _HEADERS
cdef Py_ssize_t _KEY_GIVEN
cdef Py_ssize_t _PLACE
cdef Replacements _replacements

cpdef bint are_known() except -1

cdef _serialized(object serializer, object value)

@cython.locals(is_written=cython.bint)
cdef _send(object tracer, object topic, object key, object headers, dict found, object partition)

cdef bint _are_plain(dict records) except -1

@cython.locals(found=dict)
cdef _receive_topic(object tracer, object place, object records, dict shared, object group)

cdef _receive(object tracer, object record, dict found, object group)

cdef dict _shared(object client)

cdef _add_place(dict found, object topic, object partition, object key)

cdef dict _received(dict found, object group, object count)
