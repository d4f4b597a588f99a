# C types for the compiled twin of aws_extensions.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef Facts _facts
cdef dict _LISTS
cdef dict _globals
cdef dict _dynamodb_globals
cdef dict _loaders
cdef dict _endpoints
cdef object DYNAMODB
cdef object SQS

cpdef tuple endpoint(object url)

@cython.locals(names=tuple)
cpdef kind_of(object loader)

cdef bint are_described(object kind) except -1

cdef bint describe_request(object kind, object operation, object params, object peer, dict attributes) except -1

cdef bint add_request(object operation, dict params, dict found) except -1

cdef bint describe_answer(object kind, object operation, dict result, dict found) except -1

cdef bint add_metadata(dict result, dict found) except -1

cdef bint _add(dict given, dict attributes, dict found) except -1

@cython.locals(parts=list)
cdef json_text(object value)
