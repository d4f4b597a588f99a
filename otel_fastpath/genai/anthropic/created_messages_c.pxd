# C types for the compiled twin of created_messages.py.
import cython

cdef dict _globals
cdef dict _wrapper_globals
cdef dict _extractors
cdef dict _FIRST
cdef tuple _ASKED
cdef dict _REASONS
cdef frozenset _RESOURCES

cpdef bint are_known() except -1

@cython.locals(is_beta=cython.bint, is_async=cython.bint)
cdef process_answer(object result, object instance, object invocation, object stream)

@cython.locals(found=dict, name=str, argument=str)
cdef tuple _asked(object instance, dict kwargs)

@cython.locals(given=dict, made=dict, is_counted=cython.bint)
cdef bint _set_response(object data, object message, object captures) except -1

@cython.locals(own=dict, found=dict)
cdef dict _fields(object message)
