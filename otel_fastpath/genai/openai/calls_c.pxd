# C types for the compiled twin of calls.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram
from otel_fastpath.genai.openai.prepared_calls_c cimport PreparedCalls, CallMetrics, Target

cdef tuple _ERROR_AND_MODEL
cdef object ABANDONED
cdef object RAW
cdef dict _metrics_globals

cdef class OpenAICall:
    cdef public PreparedCalls _calls
    cdef public object _chunks
    cdef public bint _has_chunk
    cdef bint _is_open
    cdef public bint _measures
    cdef public bint _recording
    cdef public object _served_model
    cdef public object _token
    cdef public dict attributes
    cdef public object captured
    cdef public object context
    cdef public bint has_times
    cdef public bint is_over
    cdef public bint is_quiet
    cdef public object outer
    cdef public object span
    cdef public double started
    cdef public Target target
    cpdef leave(self)
    cpdef bint try_end_with(self, object result, object options, object is_stream) except -1
    @cython.locals(target=Target)
    cpdef answer(self, object result, object is_raw=*)
    cpdef stream(self)
    cpdef set_served_model(self, object model)
    @cython.locals(found=CallMetrics, attributes=dict, is_first=bint, bound=BoundHistogram)
    cpdef BoundHistogram early_chunk(self, object seconds)
    cpdef fail(self, object error)
    cpdef abandon(self)
    cpdef end(self, object error=*, object message=*)
    @cython.locals(seconds=double, target=Target, calls=PreparedCalls, attributes=dict)
    cdef _record_outcome(self, object error, object message)
    cdef _end_after(self, object fault)
    cdef _end_span(self)
    cdef _describe(self, object error, object message)
    @cython.locals(found=CallMetrics, attributes=dict)
    cdef _measure(self, object seconds, tuple which)

@cython.locals(call=OpenAICall)
cpdef OpenAICall new_call()

@cython.locals(calls=PreparedCalls, target=Target, measures=bint, listens=bint, body=dict)
cpdef bint begin(OpenAICall call, object telemetry, object client, object options) except -1

cdef Target _target(PreparedCalls calls, object client, object options, dict body)

cdef _open(
    OpenAICall call, PreparedCalls calls, Target target, object context, object outer, bint measures, bint listens
)

@cython.locals(attributes=dict)
cdef _read_request(OpenAICall call, PreparedCalls calls, Target target, object options, dict body)
