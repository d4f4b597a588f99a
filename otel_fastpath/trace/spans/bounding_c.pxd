# C types for the compiled twin of bounding.py.
import cython

cdef dict _attributes_globals
cdef dict _list_globals

cdef bounded_attributes(dict store, object most, object longest, bint immutable)

@cython.locals(surplus=Py_ssize_t)
cdef bounded_list(list items, object most)
