# C types for the compiled twin of environs.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.server_metrics_c cimport RequestLabels, ApplicationMetrics

cdef class EnvironShape:
    cdef public bint has_target
    cdef public RequestLabels labels
    cdef public str method
    cdef public str prefix
    cdef public dict template

cdef class EnvironShapes(ApplicationMetrics):
    cdef object _collect
    cdef dict _kept
    cdef object _module
    cdef StockFunctions _stock
    cdef object _split
    @cython.locals(key=tuple)
    cpdef EnvironShape find(self, dict environ)
    @cython.locals(shape=EnvironShape)
    cpdef RequestLabels labels_of(self, dict environ)
    cdef dict _collected(self, dict environ)
    @cython.locals(shape=EnvironShape, attributes=dict)
    cpdef tuple look(self, dict environ)
    cdef bint _put_port(self, dict attributes, object port) except -1
    cdef _put_target(self, dict attributes, dict environ)
    cdef tuple _uncommon(self, dict environ)
    cdef EnvironShape _new_shape(self, tuple key, dict environ)

cpdef name_span(str method, dict environ)

cdef _put(dict attributes, object name, object value)

cdef _redact(dict attributes)

cdef dict _undecoded(dict environ)

cdef str _url(EnvironShape shape, dict environ)
