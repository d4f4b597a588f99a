# C types for the compiled twin of correlation.py.
import cython

@cython.locals(fields=dict, header=str)
cdef _inject(object record, object name)
