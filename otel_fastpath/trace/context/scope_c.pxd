# C types for the compiled twin of scope.py.
import cython

from otel_fastpath.compiled.sharing_c cimport shared_int

cdef decorate(object scope, object func)

cpdef raise_as_generator(object error)

cdef class ScopeKind:
    cdef ScopeKind below_proxy
    cdef object instead
    cdef tuple frames
    cdef public object scope_class
    cpdef with_frames(self, tuple frames)

cdef class Scope:
    cdef object _end_on_exit
    cdef ScopeKind _manner
    cdef object _span
    cdef tuple _start
    cdef shared_int _state
    cdef object _token
    @cython.locals(scope=Scope)
    cpdef _recreate_cm(self)
    cdef _start_span(self)
    cdef _start_as_stock(self)
    cdef _leave_as_stock(self)
    cdef _record_error(self, object error)

cdef class OpenScope(Scope):
    pass

cdef bint try_leave(Scope scope, int state) except -1

cdef Scope fill(Scope scope, ScopeKind manner, tuple start, object end_on_exit)

@cython.locals(manner=ScopeKind)
cdef add_frames(Scope scope, tuple frames)
