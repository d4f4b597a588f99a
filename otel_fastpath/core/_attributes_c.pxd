# C types for the compiled twin of _attributes.py.
import cython

cdef object BoundedAttributes
cdef object Lazy
cdef object FAILED
cdef object Mapping
cdef object MappingProxyType
cdef frozenset _PLAIN
cdef object LEAVE

cdef frozen(object value, Py_ssize_t longest, object clean)

cdef made(object attributes, bint recording)

@cython.locals(kept=dict, plain=cython.bint)
cdef clean_mapping(object attributes, Py_ssize_t longest, object clean, Py_ssize_t room)
