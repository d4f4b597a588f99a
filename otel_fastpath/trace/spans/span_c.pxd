# C types for the compiled twin of span.py.
from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.planning.plan_c cimport TracerPlan
from otel_fastpath.trace.spans.recorded_c cimport SpanState

import cython

cdef bint FREE_THREADED
cdef Facts _context_facts
cdef Facts _several

cpdef bint is_context_known() except -1

@cython.locals(plan=TracerPlan)
cdef bint _try_set(SpanState span, object key, object value) except -1

cdef bint _sets_several_itself(SpanState span) except -1

cpdef make_room(SpanState span)

@cython.locals(store=dict, size=Py_ssize_t)
cdef bint _put(SpanState span, str key, object kept) except -1

@cython.locals(store=dict)
cdef bint _takes(SpanState span, str key) except -1

cdef Py_ssize_t _room(SpanState span) except -2

@cython.locals(plan=TracerPlan, room=Py_ssize_t)
cdef bint _try_set_all(SpanState span, object attributes) except -1

@cython.locals(size=Py_ssize_t, store=dict)
cdef bint _put_all(SpanState span, dict kept) except -1

@cython.locals(changes=int)
cdef bint _try_set_status(SpanState span, object status, object description) except -1

cdef int _changes(SpanState span, bint is_unset) except -2

cdef bint _put_status(SpanState span, object status) except -1

cdef bint _try_rename(SpanState span, object name) except -1
