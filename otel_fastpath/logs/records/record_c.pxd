# C types for the compiled twin of record.py.

cdef class RecordState:
    cdef public dict attribute_store
    cdef public object body
    cdef public object bounded_attributes
    cdef public object context
    cdef public object event_name
    cdef public object exception
    cdef public object instrumentation_scope
    cdef public object limits
    cdef public object made
    cdef public object observed_timestamp
    cdef public object resource
    cdef public object severity_number
    cdef public object severity_text
    cdef public object span_id
    cdef public object timestamp
    cdef public object trace_flags
    cdef public object trace_id
