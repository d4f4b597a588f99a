# C types for the compiled twin of handling.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.logs.records.emitting_c cimport LogPlan, Backoff

cdef Py_ssize_t maxsize
cdef str HANDLER
cdef bint _RETURNS_RECORD
cdef Py_ssize_t _MOST_LOGGERS
cdef frozenset RESERVED
cdef tuple _USUAL
cdef double _LATEST
cdef frozenset _ATOMS
cdef frozenset _OF_AN_EXCEPTION
cdef int _LEFT
cdef int _SENT
cdef int _GUARD_FIRST

cdef class HandlerPlan(Backoff):
    cdef public Facts facts
    cdef public object get_logger
    cdef public object guard
    cdef public Facts handling
    cdef public bint has_code
    cdef public bint has_event_names
    cdef public bint has_text_bodies
    cdef public dict names
    cdef public dict plans
    cdef public object provider
    cdef public dict severities
    cdef public object severity
    cdef public object sights
    cdef public dict texts

@cython.locals(fields=dict, values=dict, plan=HandlerPlan, log_plan=LogPlan, sent=int)
cdef bint _try_emit(object handler, object record, bint in_handle) except -1

cdef LogPlan _log_plan(HandlerPlan plan, str name)

cdef bint _are_atoms(object arguments) except -1

@cython.locals(kept=dict, is_text=bint, is_plain=bint, moment=double, state=int, room=Py_ssize_t)
cdef int _try_send(HandlerPlan plan, LogPlan log_plan, dict values, bint guarded) except -1

cdef _formatted(object text, object arguments)

cdef _add_code(dict kept, dict values)

cdef _event_name(dict kept)

cdef bint _is_known(LogPlan log_plan, object exc_info, dict kept, int state) except -1

cdef _describe(dict kept, object exc_info)
