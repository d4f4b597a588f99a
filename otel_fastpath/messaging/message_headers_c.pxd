# C types for the compiled twin of message_headers.py.
import cython

cdef str _PARENT
cdef frozenset _NAMES
cdef dict _globals

@cython.locals(header=str, found=dict)
cdef bint write_header(object headers, object span, bint is_current) except -1

@cython.locals(found=dict, pair=tuple, header=bytes)
cdef remote_context(object headers)

cdef _context_of(dict found)

@cython.locals(header=str)
cdef bint write_mapped(object headers) except -1

@cython.locals(found=dict)
cdef mapped_context(object headers)

@cython.locals(is_written=cython.bint)
cpdef inject_mapped(object headers, str place)
