# C types for the compiled twin of invocations.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts

cdef dict _base_globals
cdef dict _inference_globals
cdef Facts _begun
cdef Facts _measured
cdef object _CLIENT
cdef object _CHAT

cdef dict _CALL
cdef object _EVENT_ONLY
cdef object _BOTH

cdef class StartedSpan:
    cdef public object span

cdef bint _can_start(object call) except -1

cdef _set_mode(dict own, object mode)

cdef tuple _contexts(dict own, object known, object given)

cdef StartedSpan _start(object tracer, dict own, object model, object context)

cdef _emits(object mode)

@cython.locals(start=dict, own=dict, record=dict)
cdef dict _prepare(
    tuple given, object provider, object model, object address, object port, object operation, object context
)

cdef _open(object self, dict own, object span, object context, object attaches)

cdef _overwrite(dict data, dict given)
