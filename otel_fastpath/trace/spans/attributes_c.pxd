# C types for the compiled twin of attributes.py.
import cython

cdef object LEAVE

cdef frozen(object key, object value, Py_ssize_t longest, object clean)

cdef made(object attributes, bint recording)

@cython.locals(kept=dict)
cdef clean_mapping(object attributes, Py_ssize_t longest, object clean, Py_ssize_t room)
