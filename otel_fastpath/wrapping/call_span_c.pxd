# C types for the compiled twin of call_span.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef object OUTER

cdef class Call:
    cdef bint _is_ours
    cdef public object _started
    cdef public object _telemetry
    cdef public object _token
    cdef public bint recording
    cdef public object series
    cdef public object span
    cpdef leave(self)
    @cython.locals(bound=BoundHistogram)
    cpdef end(self)
    cpdef fail(self, object error)
    cdef _record_failed(self, object failure)
    cdef _end_after(self, object fault)
    cdef _end_span(self)

cdef class QueryPlan:
    cdef public dict attributes
    cdef public bint is_quiet
    cdef public object name
    cdef public BoundHistogram rows
    cdef public object series
    cdef public object summary

cdef class ConnectionPlan:
    cdef public object active
    cdef public object call
    cdef public object count
    cdef public bint has_meter
    cdef public bint is_driver
    cdef public object plans
    cdef public object prepared
    cdef public dict queries
    cdef public dict queries_with_arguments
    cdef public double slow
    cdef public object telemetry
    cdef public object tracer

cdef class QueryCall(Call):
    cdef object _mark
    cdef public double began
    cdef public bint has_more
    cdef public bint is_timed
    cdef public int kind
    cdef public ConnectionPlan connection_plan
    cdef public object parameters
    cdef public QueryPlan plan
    cpdef leave(self)
    cdef _unmark(self)
    @cython.locals(number=Py_ssize_t)
    cpdef done(self, object result)
    cpdef record_rows(self, object number)
    cpdef end_failed(self, object error)
    cdef _look_back(self)

cpdef bint is_suppressed() except -1

cpdef outer_call()

@cython.locals(call=Call)
cpdef Call new_call()

cpdef bint begin_call(Call call, object telemetry, object name, object attributes, object series=*, object start_ns=*) except -1

cdef _begin(Call call, object span, object series, object start_ns, bint is_outer=*)

cdef _attach_outer(Call call, object span)

cdef _begin_without(Call call, object span, object fault)

@cython.locals(connection_plan=ConnectionPlan)
cdef watch(QueryCall call, object start_ns)

@cython.locals(call=QueryCall)
cpdef QueryCall new_query()

@cython.locals(around=QueryCall, is_inside=bint)
cpdef bint open_query(QueryCall call, ConnectionPlan connection_plan, QueryPlan plan, int kind, object start_ns) except -1
