# C types for the compiled twin of scopes.py.

cdef object asgi
cdef dict _addresses

cdef dict server_attributes(dict scope, object authority)
cdef query_of(bytes query)
cdef read(dict scope)
