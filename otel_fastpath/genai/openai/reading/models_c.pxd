# C types for the compiled twin of models.py.
import cython

cdef int _DEEPEST
cdef int CALL
cdef int CHAT
cdef int OTHERWISE
cdef int EVENTS
cdef int FIRST
cdef int GIVEN
cdef int INTO
cdef int ITEMS
cdef int NONE
cdef int NUMBER
cdef int REASONS
cdef int TEXT
cdef int TRUE

@cython.locals(own=dict)
cpdef field(object holder, str name)

cdef _undeclared(object holder, str name)

@cython.locals(own=dict, kind=int)
cpdef read(object holder, tuple rules, dict attributes)

@cython.locals(rule=tuple)
cpdef read_body(dict body, dict rules, dict attributes)

cdef _put(object name, int kind, object before, object value, dict attributes)

@cython.locals(own=dict, mine=dict)
cpdef bint is_text(object chunk, int kind, object events) except -1

cpdef bint is_count(object value) except -1

cpdef bint begins_with_text(object messages) except -1

cpdef copied(object value)

cdef _copied(object value, int room)

@cython.locals(own=dict)
cdef _copied_model(object model, int room)
