# C types for the compiled twin of prepared_calls.py.
from otel_fastpath.wrapping.replacements_c cimport Replacements
from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram

cdef int _EACH
cdef dict _NO_BODY
cdef int _LARGEST_SERIES
cdef int _MOST_SERIES

cdef class CallMetrics:
    cdef readonly BoundHistogram duration
    cdef readonly BoundHistogram first_chunk
    cdef readonly BoundHistogram input
    cdef readonly BoundHistogram next_chunk
    cdef readonly BoundHistogram output

cdef class Target:
    cdef public dict _by_values
    cdef public object _kept
    cdef object _labels
    cdef public object endpoint
    cdef public object error
    cdef public object fixed
    cdef public bint has_result
    cdef public tuple histograms
    cdef public bint is_fetched
    cdef public bint is_inference
    cdef public object more
    cdef public str name
    cdef public str nests
    cdef public object options
    cdef public dict request
    cdef public tuple result
    cdef public tuple series_names
    cdef public object shape
    cdef public dict start
    cdef public object started
    cpdef CallMetrics series(self, dict attributes, tuple which)

cdef class PreparedCalls:
    cdef public bint always
    cdef public bint captures
    cdef public bint events
    cdef public bint has_meter
    cdef public object kind
    cdef public bint on_span
    cdef public Replacements replacements
    cdef public dict targets
    cdef public object telemetry
    cdef public object tracer

cdef body_of(object options)
