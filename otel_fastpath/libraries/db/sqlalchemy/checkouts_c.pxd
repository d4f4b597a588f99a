# C types for the compiled twin of checkouts.py.
import cython

cdef object all_pools
cdef object pools
cdef object DATABASE
cdef str LINK
cdef object PLACE
cdef object faults

cpdef begin(object engine)

@cython.locals(begun=tuple)
cpdef acquired(object engine, object fairy, object begun)

cpdef released(object record)

cdef _metrics(object active)
