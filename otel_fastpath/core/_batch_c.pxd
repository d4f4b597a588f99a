# C types for the compiled twin of _batch.py.
import cython

from otel_fastpath.core._capi cimport COMPILED, c_getpid, c_read

cdef object getpid

cdef class Batch:
    cdef public Py_ssize_t max_batch
    cdef public Py_ssize_t max_queue
    cdef public int pid
    cdef public object processor
    cdef public object append
    cdef public object queue

@cython.locals(length=Py_ssize_t, in_the_way=cython.bint)
cdef enqueue(Batch batch, object span)
