# C types for the compiled twin of correlation.py.
import cython

cdef object _trace_api
cdef object INVALID_SPAN_CONTEXT
cdef object faults
cdef object _LogRecord

@cython.locals(fields=dict, header=str)
cdef _inject(object record, object name)
