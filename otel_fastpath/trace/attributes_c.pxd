# C types for the compiled twin of attributes.py.
import cython
from otel_fastpath.compiled.capi cimport COMPILED, c_copy, c_is_plain

cdef object BoundedAttributes
cdef object Lazy
cdef object DROPPED
cdef object FAILED
cdef object Mapping
cdef object MappingProxyType
cdef frozenset PLAIN
cdef frozenset _NO_TEXT
cdef object LEAVE

cdef frozen(object key, object value, Py_ssize_t longest, object clean)

cdef made(object attributes, bint recording)

@cython.locals(kept=dict, plain=cython.bint, as_is=frozenset)
cdef clean_mapping(object attributes, Py_ssize_t longest, object clean, Py_ssize_t room)
