# C types for the compiled twin of task_attributes.py.
import cython

cdef tuple _KEYS
cdef frozenset _PLAIN
cdef frozenset _NUMBERS
cdef frozenset _SPECIAL
cdef frozenset _TEXTS
cdef dict _KINDS
cdef object NOTHING
cdef object _DESTINATION
cdef str _DELIVERY
cdef str _DECLARE
cdef str _LIMITS
cdef str _RETRIES
cdef str _ROUTING_KEY

@cython.locals(key=str, name=str)
cdef bint add_attributes(dict found, dict given) except -1

cdef _special(dict found, str key, object value)

cdef _put(dict found, str name, object value)

cdef _limits(object value)

cdef _kind_of(object queues)
