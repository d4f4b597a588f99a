# C types for the compiled twin of summary.py.
cdef int _LONGEST
cdef int OPERATES
cdef int IN_FROM
cdef int IN_WITH
cdef frozenset _TAKES_ARGUMENTS
cdef frozenset _ANYWHERE
cdef frozenset _NOT_AFTER
cdef frozenset _WITH_NAME
cdef frozenset _ON_OBJECTS
cdef frozenset _ALONE
cdef frozenset _SETTING
cdef frozenset _NOISE
cdef frozenset _BEFORE_NAMES
cdef frozenset _ENDS_FROM
cdef frozenset _NO_NAME
cdef frozenset _KINDS_OF_TABLES
cdef frozenset _HALF_OBJECTS
cdef dict _SEQUELS

cdef class Summary:
    cdef readonly str first
    cdef readonly bint is_value
    cdef readonly str last
    cdef readonly str operation
    cdef readonly str procedure
    cdef bint _begins
    cdef set _ctes
    cdef bint _expects
    cdef list _found
    cdef str _head
    cdef int _level
    cdef list _levels
    cdef bint _sets
    cdef Py_ssize_t _size
    cdef bint _wants_object
    cdef _restart(self)
    cpdef text(self)
    cpdef bint takes_arguments(self) except -1
    cpdef literal(self)
    cpdef comma(self)
    cpdef open(self)
    cpdef close(self)
    cpdef sign(self, Py_UCS4 char)
    cpdef name(self, str name)
    cpdef word(self, str word, str upper)
    cdef _other(self, str word, str upper)
    cdef _begin(self, str word, str upper)
    cdef _operate(self, str word, str upper)
    cdef _add_operation(self, str word, str upper)
    cdef _add_name(self, str name)
    cdef _add(self, str text)
