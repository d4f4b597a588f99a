# C types for the compiled twin of scopes.py.

cdef object parse_qsl
cdef object urlencode
cdef object propagate
cdef object Context
cdef object Headers
cdef object LONGEST
cdef object keep
cdef object asgi
cdef object _PROPAGATED
cdef dict _addresses

cdef dict server_attributes(dict scope, object authority)
cdef query_of(bytes query)
cdef read(dict scope)
