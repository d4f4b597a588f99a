# C types for the compiled twin of start.py.
import cython

from otel_fastpath.compiled.capi cimport (
    COMPILED,
    c_current,
    c_is_global,
    c_item,
    c_low_64_bits,
    c_new_instance,
    c_now,
)
from otel_fastpath.trace.plan_c cimport Plan, Spans
from otel_fastpath.trace.identity_c cimport Identity
from otel_fastpath.trace.span_c cimport SpanState

cdef object getrandbits
cdef object Context
cdef object Decision
cdef object SamplingResult
cdef object MappingProxyType
cdef object NonRecordingSpan
cdef object _SPAN_KEY
cdef object get_current_span
cdef object DEFAULT_TRACE_STATE
cdef object Span
cdef object SpanContext
cdef dict _context_globals
cdef object _runtime
cdef object _variable
cdef dict _sdk_globals
cdef object _now
cdef object _OUTERMOST
cdef object _UNSET
cdef object _SERVER
cdef object _CONSUMER
cdef int ASK
cdef int DROP
cdef int RECORD_ONLY
cdef int SAMPLE
cdef int RATIO
cdef object _BOTH_IDS
cdef tuple _DECISIONS
cdef dict _RULES
cdef object _GIVEN_UP
cdef object _make_plan

cdef _outer_span(object context)

cdef class KeptSpans(Spans):
    pass

@cython.locals(plan=Plan)
cdef Plan _plan_of(object tracer)

cdef bint _is_on(Plan plan, object tracer) except -1

cdef bint _is_dropped_below(Plan plan, object outer) except -1

cdef _foreign_parent(Plan plan, object outer)

cdef _proxied(object attributes)

cdef unsigned long long _low_64_bits(object trace_id) except? 0xFFFFFFFFFFFFFFFF

cdef int _by_ratio(Plan plan, int rule, object trace_id) except -1

cdef tuple _asked(
    Plan plan,
    object name,
    object context,
    object kind,
    object attributes,
    object links,
    object parent,
    object trace_id,
    int flags,
    object state,
    int rule,
)

@cython.locals(
    plan=Plan,
    found=tuple,
    asked=tuple,
    flags=cython.int,
    rule=cython.int,
    above=Identity,
    known=Identity,
    span=SpanState,
)
cpdef start_span(
    object tracer,
    object name,
    object context,
    object kind,
    object attributes,
    object links,
    object start,
    object records,
    object sets,
    bint gives_up=*,
)
