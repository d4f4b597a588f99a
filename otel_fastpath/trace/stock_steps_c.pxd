# C types for the compiled twin of stock_steps.py.
import cython

from otel_fastpath.trace.planning.plan_c cimport TracerPlan
from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef dict _sdk_globals
cdef bint _copies

@cython.locals(span=SpanState)
cdef _create(TracerPlan plan, tuple parts, tuple given, object context, object attributes, object parent, object metrics)

@cython.locals(plan=TracerPlan)
cdef bint _try_start(SpanState span, object start_time) except -1

@cython.locals(plan=TracerPlan)
cdef bint _is_ended_as_planned(SpanState span) except -1
