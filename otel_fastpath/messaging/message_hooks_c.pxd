# C types for the compiled twin of message_hooks.py.
import cython

from otel_fastpath.wrapping.replacements_c cimport Replacements

cdef own_tracer(object tracer)

cdef dict _texts

@cython.locals(found=Replacements)
cdef bint is_usual(object tracer, object hook, object replacements) except -1

cdef json_of(object value)

cdef bint add_texts(dict found, str first, object text, str second, object other) except -1

cpdef describe(object span, dict attributes, str place)

cpdef finish(object span, dict attributes, str place)

cpdef give_back(object token, str place)
