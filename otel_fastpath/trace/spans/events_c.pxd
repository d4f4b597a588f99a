# C types for the compiled twin of events.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.planning.plan_c cimport TracerPlan
from otel_fastpath.trace.spans.recorded_c cimport EventState, SpanState

cdef dict _sdk_globals
cdef Facts _keeping
cdef Facts _adding
cdef Facts _recording
cdef Py_ssize_t maxsize

@cython.locals(plan=TracerPlan, state=int)
cdef bint _try_add(SpanState span, object name, object attributes, object timestamp) except -1

@cython.locals(event=EventState, plan=TracerPlan)
cdef bint _keep_event(SpanState span, object name, dict kept, object timestamp) except -1

@cython.locals(events=list)
cdef bint _append(SpanState span, EventState event) except -1

@cython.locals(events=list)
cdef int _adds(SpanState span) except -2

cpdef bint try_record_escape(SpanState span, object exception, tuple frames) except -1

cdef dict _describe(object exception, object stack, object escaped)

@cython.locals(plan=TracerPlan, state=int)
cdef _exception_attributes(SpanState span, object exception, object attributes, object escaped, tuple frames)
