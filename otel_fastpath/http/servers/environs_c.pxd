# C types for the compiled twin of environs.py.
import cython

from otel_fastpath.http.conventions_c cimport StockFunctions
from otel_fastpath.http.servers.server_metrics_c cimport RequestLabels, ApplicationMetrics

cdef object _is_plain
cdef object request_uri
cdef object redact_url
cdef object _parse_url_query
cdef object needs_redaction
cdef object _report_new
cdef object _report_old
cdef object HTTP_TARGET
cdef object HTTP_URL
cdef object NET_PEER_IP
cdef object NET_PEER_PORT
cdef object CLIENT_ADDRESS
cdef object CLIENT_PORT
cdef object URL_PATH
cdef object URL_QUERY
cdef object redact_query_parameters
cdef object LONGEST
cdef object keep
cdef object METHODS

cdef class EnvironShape:
    cdef public bint has_target
    cdef public RequestLabels labels
    cdef public str method
    cdef public str prefix
    cdef public dict template

cdef class EnvironShapes:
    cdef object _collect
    cdef dict _kept
    cdef object _mode
    cdef object _module
    cdef StockFunctions _stock
    cdef object _split
    cdef public bint has_new
    cdef public bint has_old
    cdef public ApplicationMetrics series
    @cython.locals(key=tuple)
    cpdef EnvironShape find(self, dict environ)
    @cython.locals(shape=EnvironShape)
    cpdef RequestLabels labels(self, dict environ)
    cdef dict _collected(self, dict environ)
    @cython.locals(shape=EnvironShape, attributes=dict)
    cpdef tuple look(self, dict environ)
    cdef bint _put_port(self, dict attributes, object port) except -1
    cdef _put_target(self, dict attributes, dict environ)
    cdef RequestLabels _labels_of(self, dict attributes)
    cdef tuple _uncommon(self, dict environ)
    cdef EnvironShape _new_shape(self, tuple key, dict environ)

cpdef name_span(str method, dict environ)

cdef _put(dict attributes, object name, object value)

cdef _redact(dict attributes)

cdef dict _undecoded(dict environ)

cdef str _url(EnvironShape shape, dict environ)
