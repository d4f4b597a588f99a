# C types for the compiled twin of message_hooks.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef own_tracer(object tracer)

cdef dict _texts

@cython.locals(found=Replacements)
cdef bint is_usual(object tracer, object hook, object replacements) except -1

cdef json_of(object value)

cpdef describe(object span, dict attributes, str place)

cpdef finish(object span, dict attributes, str place)
