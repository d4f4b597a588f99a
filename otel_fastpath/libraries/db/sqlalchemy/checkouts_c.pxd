# C types for the compiled twin of checkouts.py.

cdef object all_pools
cdef object new
cdef object pools
cdef object DATABASE
cdef str LINK
cdef object PLACE
cdef object faults

cpdef begin(object engine, list begun)

cpdef acquired(object engine, object fairy, list begun)

cpdef released(object record)

cdef _metrics(object active)
