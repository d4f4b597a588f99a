# C types for the compiled twin of checkouts.py.

cdef object all_pools
cdef object new
cdef object pools
cdef object DATABASE
cdef str LINK
cdef object PLACE
cdef object faults

cpdef begin(object engine, list begun)

cpdef end_wait(object engine, object fairy, list begun)

cpdef record_release(object record)

cdef _metrics(object active)
