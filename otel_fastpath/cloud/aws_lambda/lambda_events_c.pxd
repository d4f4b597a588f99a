# C types for the compiled twin of lambda_events.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _globals
cdef dict _sqs_globals
cdef dict _READ
cdef dict _SHOWN
cdef frozenset _LENGTHS
cdef Facts _reading
cdef Facts _describing
cdef Facts _linking

cdef dict _headers(object event)

cdef dict _named(dict headers, dict wanted)

cdef _blind_dict(dict headers)

cdef _remote(dict found)

@cython.locals(attributes=dict)
cdef dict _describe(dict event, dict headers)

@cython.locals(texts=list)
cdef str _query(object given)

@cython.locals(links=list, found=dict)
cdef list _links(list records)
