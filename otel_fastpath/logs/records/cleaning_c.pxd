# C types for the compiled twin of cleaning.py.
import cython

cdef Py_ssize_t maxsize
cdef dict _attributes_globals
cdef frozenset _ATOMS
cdef int _DEEPEST
cdef bint _CLEANS_BY_KEY

@cython.locals(kept=dict)
cdef dict clean_attributes(dict attributes, Py_ssize_t longest)

cdef _cleaned(object value, Py_ssize_t longest, int depth)

cdef bint _has_usual_keys(dict mapping) except -1

@cython.locals(made=dict)
cdef dict _cleaned_items(dict mapping, Py_ssize_t longest, int depth)

cdef _most(Py_ssize_t longest)
