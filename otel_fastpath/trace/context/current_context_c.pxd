# C types for the compiled twin of current_context.py.
from otel_fastpath.compiled.facts_c cimport Facts

cdef list READING_SPAN
cdef list READING_VALUE
cdef list GETTING_CURRENT
cdef list ATTACHING_CONTEXT
cdef list DETACHING_CONTEXT
cdef object _variable
cdef Facts _reading
cdef Facts _reading_span
cdef Facts _attaching
cdef Facts _setting
cdef Facts _detaching

cpdef current()
cpdef span_in(object context)
cpdef with_span(object context, object span)
cpdef attach(object span)
cpdef attach_as_stock(object span)
cpdef attach_value(object key, object value)
cpdef attach_flags(tuple keys)
cpdef attach_context(object context)
cpdef detach(object token)
cpdef restore(object token)
