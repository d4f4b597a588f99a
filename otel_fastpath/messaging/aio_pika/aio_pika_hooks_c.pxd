# C types for the compiled twin of aio_pika_hooks.py.
from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef dict _sending_globals
cdef dict _receiving_globals
cdef frozenset _CONNECTIONS
cdef frozenset _EXPIRATIONS
cdef Replacements _replacements

cpdef bint are_known() except -1

cdef _given(object args, object kwargs)

cdef _remote_context(object headers)

cdef _attributes(object message, object destination, object channel)
