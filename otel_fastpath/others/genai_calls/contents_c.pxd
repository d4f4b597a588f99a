# C types for the compiled twin of contents.py.
import cython

cdef frozenset _AS_IS
cdef int _DEEPEST
cdef dict _FIELDS
cdef object _MISSING
cdef object _encode
cdef tuple _CONTENT

@cython.locals(made=dict)
cdef dict contents(dict data)

cdef add_encoded(dict attributes, dict made)

@cython.locals(names=tuple, made=list)
cdef list _listed(object items)

@cython.locals(made=dict, own=dict)
cdef dict _fields_of(object value, tuple names, int depth)

@cython.locals(items=list, mapping=dict, made=dict, names=tuple)
cdef _copied(object value, int depth)
