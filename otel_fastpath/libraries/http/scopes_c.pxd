# C types for the compiled twin of scopes.py.
cdef object faults
cdef object guarded
cdef object _PLACE

cpdef made(object tracer, object name, object kind, object attributes)
cpdef entered(object scope)
cpdef closed(object scope, object error)
