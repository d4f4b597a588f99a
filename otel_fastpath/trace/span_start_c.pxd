# C types for the compiled twin of start.py.
import cython

from otel_fastpath.compiled.facts_c cimport Facts
from otel_fastpath.trace.planning.plan_c cimport LazyAttributes, TracerPlan, SpanStarter
from otel_fastpath.trace.spans.identity_c cimport Dropped, Identity
from otel_fastpath.trace.spans.recorded_c cimport SpanState

cdef dict _sdk_globals
cdef int ASK
cdef int DROP
cdef int RECORD_ONLY
cdef int SAMPLE
cdef int RATIO
cdef tuple _DECISIONS
cdef list _make_plan

cdef Facts _recording_facts

cdef class KeptSpans(SpanStarter):
    @cython.locals(plan=TracerPlan, above=Identity, rule=cython.int)
    cdef bint drops(self, object tracer) except -1
    @cython.locals(plan=TracerPlan, above=Dropped)
    cdef bint drops_below(self, object tracer, object span) except -1
    @cython.locals(ours=SpanState)
    cdef bint is_recording(self, object span) except -1

cdef tuple _make_late(tuple given, LazyAttributes late)

cdef int _rule_below(TracerPlan plan, bint is_remote, int flags) except? -1

cdef tuple _foreign_parent(TracerPlan plan, object outer)

cdef _proxied(object attributes)

cdef int _by_ratio(TracerPlan plan, int rule, object trace_id) except -1

cdef _ask_sampler(TracerPlan plan, int rule, tuple given, object trace_id)

cdef bint _is_id(object value, object most) except -1

cdef tuple _ask(
    TracerPlan plan, tuple given, object parent, object trace_id, int flags, object state, int rule, bint shares
)

@cython.locals(
    plan=TracerPlan,
    found=tuple,
    asked=tuple,
    flags=cython.int,
    rule=cython.int,
    above=Identity,
    identity=Identity,
    is_asked=cython.bint,
    late=LazyAttributes,
)
cpdef start_span(tuple given, bint gives_up=*, TracerPlan made=*)

@cython.locals(plan=TracerPlan)
cpdef TracerPlan plan_of(object tracer)

cdef _start_span(SpanState span, TracerPlan plan, tuple given, object attributes, LazyAttributes late, object parent, object metrics)
