# C types for the compiled twin of checkouts.py.

cdef str CONNECTION_PLAN

cpdef begin(object engine, list begun)

cpdef end_wait(object engine, object fairy, list begun)

cpdef record_release(object record)

cdef _metrics(object active)
