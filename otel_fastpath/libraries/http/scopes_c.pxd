# C types for the compiled twin of scopes.py.
cdef object faults
cdef object guarded
cdef object _PLACE

cpdef opened(object tracer, object name, object kind, object attributes)
cpdef closed(object scope, object error)
