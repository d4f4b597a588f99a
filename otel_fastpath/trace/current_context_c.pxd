# C types for the compiled twin of current_context.py.
cdef object _context_api
cdef object Context
cdef object _SPAN_KEY
cdef object get_current_span
cdef object faults
cdef object guarded
cdef dict _globals
cdef object _runtime
cdef object _variable
cdef object _RESTORING

cpdef current()
cpdef span_in(object context)
cpdef with_span(object context, object span)
cpdef attach(object span)
cpdef attach_upstreams_way(object span)
cpdef attach_context(object context)
cpdef detach(object token)
cpdef restore(object token)
