# C types for the compiled twin of iterators.py.
import cython

from otel_fastpath.metrics.instruments.bound_c cimport BoundHistogram
from otel_fastpath.genai.openai.calls_c cimport OpenAICall

cdef int NONE

cdef class Reading:
    cdef OpenAICall _call
    cdef object _chunks
    cdef object _inner
    cdef double _last
    cdef int _skips
    cdef BoundHistogram _times
    cdef public bint is_reading
    @cython.locals(call=OpenAICall, now=double, times=BoundHistogram)
    cdef _took(self, object chunk)

cdef _abandon(Reading reading)

cdef class Reads(Reading):
    cpdef close(self)

cdef class OpenReads(Reads):
    pass

cdef class AsyncReads(Reading):
    cpdef close(self)

cdef class OpenAsyncReads(AsyncReads):
    pass
