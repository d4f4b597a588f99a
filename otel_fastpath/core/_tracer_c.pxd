# C types for the compiled twin of _tracer.py.
import cython

from otel_fastpath.core._attach cimport c_is_emptied, c_is_pair, c_succeeding, c_was_reset
from otel_fastpath.core._capi cimport COMPILED, c_holders, c_is_bare, c_is_global, c_set, c_version
from otel_fastpath.core._identity_c cimport Dropped
from otel_fastpath.core._scope_c cimport Manner, Scope, Switch, attach, detach, filled, is_inert, patching
from otel_fastpath.core._span_c cimport SpanState
from otel_fastpath.core._start_c cimport start_span

cdef object faults
cdef object _INTERNAL

cdef object Context
cdef object _SPAN_KEY
cdef dict _context_globals
cdef object _runtime
cdef object _variable
cdef object _OUTERMOST
cdef list _left
cdef int _ALONE
cdef tuple _NO_LINKS

cdef class TracerScope(Scope):
    cdef object _context
    cdef TracerScope _left_before
    cdef object _name
    cdef object _tracer

cdef TracerScope _last_left
cdef int _are_left
cdef int _MOST_LEFT

cdef _started(TracerScope scope, Manner manner, tuple start)

cdef tuple _spelled_out(TracerScope scope)

@cython.locals(scope=TracerScope)
cdef TracerScope _unused_scope()

cdef _make_current(TracerScope scope, object span)

cdef TracerScope _filled_plainly(TracerScope scope, Manner manner, object tracer, object name, object end_on_exit)

@cython.locals(dropped=Dropped)
cdef _leave_as_found(TracerScope scope)

cdef _let_go(TracerScope scope, object span, object context)

cdef class TracerManner(Manner):
    cdef public object ours
    cdef object methods
    cdef object tracer_class
    cdef unsigned int version
    cpdef with_frames(self, tuple frames)

@cython.locals(manner=TracerManner)
cdef bint _is_ours(Manner common, object tracer) except -1
