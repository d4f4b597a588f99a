# C types for the compiled twin of aws_calls.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _globals
cdef Facts _facts
cdef tuple _FLAGS
cdef tuple _KINDS
cdef bint _sets_status
cdef Py_ssize_t _GIVEN

cpdef bint are_known() except -1

@cython.locals(own=dict)
cdef bint is_usual(object instrumentor) except -1

cdef class AwsCall:
    cdef tuple _args
    cdef object _client
    cdef object _extension
    cdef bint _is_described
    cdef object _kind
    cdef object _logger
    cdef object _metrics
    cdef object _registry
    cdef object _span
    cdef object _suppression
    cdef readonly object instrumentor
    cdef readonly object operation
    cdef readonly object params
    cdef readonly object result
    cdef readonly object scope
    cdef readonly object service
    @cython.locals(attributes=dict, extensions=dict, is_plain=cython.bint)
    cdef bint _prepare(self) except -1
    cdef _tracer(self, str name)
    cdef _say(self, str message)
    cdef _made_extension(self)
    @cython.locals(is_kept=cython.bint, found=dict)
    cpdef before(self, object span)
    cpdef suppress(self)
    cpdef release(self)
    @cython.locals(found=dict, is_described=cython.bint, is_whole=cython.bint, is_kept=cython.bint)
    cpdef succeed(self, object result)
    @cython.locals(is_error=cython.bint, is_odd=cython.bint, own=dict)
    cpdef fail(self, object error)
    cpdef leave(self)
    cdef _invoke(self, str name, tuple args)

@cython.locals(call=AwsCall)
cpdef AwsCall begin(tuple given, dict named)

cdef _report(str place, object error)
