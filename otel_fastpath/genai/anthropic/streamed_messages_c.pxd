# C types for the compiled twin of streamed_messages.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef dict _globals
cdef tuple COUNTED
cdef str DETAILS
cdef dict _BLOCKS
cdef dict _PIECES
cdef frozenset _STREAMS
cdef Replacements replacements
cdef Replacements _replacements

cdef class Draft:
    cdef readonly object started
    cdef readonly dict fields
    cdef readonly list blocks
    cdef readonly list later
    cdef readonly list made
    cdef readonly dict buffers

    cpdef message(self)

    cdef _make(self)

    cpdef list parts(self)

@cython.locals(given=dict)
cdef Draft _begin(object event, dict own, dict buffers)

cdef bint add_usage(dict fields, dict usage) except -1

@cython.locals(blocks=list, given=dict)
cdef bint _take(Draft draft, object kind, object event, dict own) except -1

@cython.locals(given=dict)
cdef bint _take_end(Draft draft, object event, dict own) except -1

@cython.locals(given=dict, pieces=list)
cdef bint _take_delta(tuple block, object delta) except -1

cdef bint _add_json(list pieces, dict given) except -1
