# C types for the compiled twin of pika_hooks.py.
from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef dict _globals
cdef Replacements _replacements

cpdef bint are_known() except -1

cdef _attributes_of_first(object queue)

cdef _receive(object proxy, object tracer, object headers, dict found)

cdef _attach(object context)

cdef _call_hook(object hook, object span, object body, object properties)

cdef _attributes(object exchange, object routing_key, object properties, str operation, object value)

cdef bint _add_peer(dict found, object channel) except -1

cdef _remote_context(object headers)
