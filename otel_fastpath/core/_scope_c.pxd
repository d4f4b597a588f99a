# C types for the compiled twin of _scope.py.
import cython
from otel_fastpath.core._capi cimport COMPILED, c_attach, c_current, c_detach

cdef object _context_api
cdef object Context
cdef object INVALID_SPAN
cdef object NonRecordingSpan
cdef object _trace_api
cdef object _SPAN_KEY
cdef object Span
cdef object Status
cdef object StatusCode
cdef object _runtime
cdef dict _context_globals
cdef dict _trace_globals
cdef object _variable
cdef frozenset _WITHOUT_EFFECT

cdef _attach(object span)
cdef _detach(object token)

cdef class Manner:
    cdef object start
    cdef object instead
    cdef tuple frames

cdef class Scope:
    cdef object _attributes
    cdef object _context
    cdef object _end_on_exit
    cdef tuple _frames
    cdef object _kind
    cdef object _links
    cdef Manner _manner
    cdef object _name
    cdef object _owner
    cdef object _record_exception
    cdef object _set_status
    cdef object _span
    cdef object _start_time
    cdef int _state
    cdef object _token
    cdef _start_instead(self)
    cdef _leave_with(self, object error)

@cython.locals(scope=Scope)
cpdef Scope new_scope(
    Manner manner,
    object owner,
    object name,
    object context,
    object kind,
    object attributes,
    object links,
    object start_time,
    object record_exception,
    object set_status_on_exception,
    object end_on_exit,
)

cdef _add_frames(Scope scope, tuple frames)

cdef class ProxyScope:
    cdef tuple _args
    cdef tuple _frames
    cdef object _inner
    cdef dict _kwargs
    cdef object _token
    cdef object _tracer
    cdef _enter_no_op(self)
