# C types for the compiled twin of scope.py.
import cython
from otel_fastpath.compiled.attach cimport c_attach, c_detach
from otel_fastpath.compiled.capi cimport COMPILED, c_is_global

cdef object _context_api
cdef object Context
cdef object NonRecordingSpan
cdef object _SPAN_KEY
cdef object wraps
cdef str SWITCH
cdef object Span
cdef object Status
cdef object StatusCode
cdef object _runtime
cdef dict _context_globals
cdef object _variable
cdef object faults

cdef attach(object span)
cdef attach_upstreams_way(object span)
cdef detach(object token)
cpdef restore(object token)
cdef decorate(object scope, object func)

cdef class Switch:
    cdef public bint inert

cdef bint is_inert(Switch switch) except -1

cdef patching(object original, object function, Switch switch)

cdef class Manner:
    cdef Manner below_proxy
    cdef object instead
    cdef tuple frames
    cpdef with_frames(self, tuple frames)

cdef class Scope:
    cdef object _end_on_exit
    cdef Manner _manner
    cdef object _span
    cdef tuple _start
    cdef int _state
    cdef object _token
    @cython.locals(scope=Scope)
    cpdef _recreate_cm(self)
    cdef _started(self)
    cdef _start_upstreams_way(self)
    cdef _leave_upstreams_way(self)
    cdef _tell(self, object error)

cdef Scope filled(Scope scope, Manner manner, tuple start, object end_on_exit)

@cython.locals(manner=Manner)
cdef add_frames(Scope scope, tuple frames)
