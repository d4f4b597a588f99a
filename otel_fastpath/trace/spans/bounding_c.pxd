# C types for the compiled twin of bounding.py.
cdef dict _attributes_globals

cdef bounded_attributes(dict store, object most, object longest, bint immutable)
