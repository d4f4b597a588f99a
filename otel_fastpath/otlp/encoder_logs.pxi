# Part of _otlp_c.pyx: log records. The pure twin is _otlp_logs.py.

cdef object _ReadableLogRecord = None
cdef object _LogRecord = None
cdef object _SeverityNumber = None


def prepare_logs(readable, log_record, severity):
    """Set stock's classes of log records, which a program that sends only spans has not imported."""
    global _ReadableLogRecord, _LogRecord, _SeverityNumber
    _ReadableLogRecord = readable
    _LogRecord = log_record
    _SeverityNumber = severity


def encode_logs(list records, Py_ssize_t at, dict groups):
    """Append log records, from index `at` on; like `encode`."""
    cdef EncodedSpans out = None
    cdef Py_ssize_t mark = -1, left = STRETCH
    cdef object record, resource = None, scope = None, own_resource, own_scope
    cdef int result = DONE
    try:
        while at < PyList_GET_SIZE(records):
            record = <object>PyList_GET_ITEM(records, at)
            if isinstance(record, RecordState):
                own_resource = (<RecordState>record).resource
                own_scope = (<RecordState>record).instrumentation_scope
            elif type(record) is _ReadableLogRecord:
                own_resource, own_scope = record.resource, record.instrumentation_scope
            else:
                return ~at
            if out is None or own_resource is not resource or own_scope is not scope:
                resource, scope = own_resource, own_scope
                out = groups.get((<size_t><void *>resource, <size_t><void *>scope))
                if out is None:
                    return at
            mark = out.used
            out.next_turn = mark + left
            if isinstance(record, RecordState) and (<RecordState>record).made is None:
                result = _put_fast_record(out, record)
            else:
                result = _put_readable_record(out, record.log_record)
            if result == LEAVE:
                break
            at += 1
            mark = -1
            if out.used >= out.next_turn:
                _take_turn(out)
            left = out.next_turn - out.used
    except Exception as error:
        faults.raise_interruption(error)
        if faults.ours(error):
            faults.report("OTLP encoder", error)
        result = LEAVE
    if mark >= 0:
        out.used = mark
    return ~at if result == LEAVE else at


cdef int _put_fast_record(EncodedSpans out, RecordState record) except -1:
    """A record of the fast path, from its state."""
    cdef Py_ssize_t begin = _open(out, 0x12, 2)
    cdef uint64_t dropped = 0
    if _put_record_head(out, record.timestamp, record.severity_number, record.severity_text, record.body) == LEAVE:
        return LEAVE
    if record.bounded_attributes is not None:
        if _put_attributes(out, 0x32, record.bounded_attributes, &dropped) == LEAVE:
            return LEAVE
    elif record.attribute_store is not None and _put_key_values(out, 0x32, record.attribute_store, 0) == LEAVE:
        return LEAVE
    _put_varint(out, 0x38, dropped)
    if _put_record_ids(out, record.trace_flags, record.trace_id, record.span_id) == LEAVE:
        return LEAVE
    if _put_time(out, 0x59, record.observed_timestamp) == LEAVE or _put_text(out, 0x62, record.event_name) == LEAVE:
        return LEAVE
    return _close(out, begin, 2)


cdef int _put_readable_record(EncodedSpans out, object record) except -1:
    """A record of exactly stock's class."""
    cdef Py_ssize_t begin = _open(out, 0x12, 2)
    cdef uint64_t dropped = 0
    if type(record) is not _LogRecord or type(record.attributes) is not _BoundedAttributes:
        return LEAVE
    if _put_record_head(out, record.timestamp, record.severity_number, record.severity_text, record.body) == LEAVE:
        return LEAVE
    if _put_attributes(out, 0x32, record.attributes, &dropped) == LEAVE:
        return LEAVE
    _put_varint(out, 0x38, dropped)
    if _put_record_ids(out, record.trace_flags, record.trace_id, record.span_id) == LEAVE:
        return LEAVE
    if _put_time(out, 0x59, record.observed_timestamp) == LEAVE or _put_text(out, 0x62, record.event_name) == LEAVE:
        return LEAVE
    return _close(out, begin, 2)


cdef int _put_record_head(EncodedSpans out, object timestamp, object number, object text, object body) except -1:
    """The fields of a record up to its body."""
    cdef Py_ssize_t begin, size = 0
    cdef const char *utf8
    if _put_time(out, 0x09, timestamp) == LEAVE:
        return LEAVE
    if number is not None:
        if number is not out.kind:
            if type(number) is not _SeverityNumber:
                return LEAVE
            out.kind_number = <uint64_t>number._value_
            out.kind = number
        _put_varint(out, 0x10, out.kind_number)
    if _put_text(out, 0x1A, text) == LEAVE:
        return LEAVE
    begin = _open(out, 0x2A, 1)
    if type(body) is str:
        utf8 = _utf8(body, &size)
        if utf8 is NULL:
            return LEAVE
        _put_bytes(out, 0x0A, utf8, size)
    elif _put_value(out, body, 0) == LEAVE:
        return LEAVE
    return _close(out, begin, 1)


cdef int _put_record_ids(EncodedSpans out, object flags, object trace_id, object span_id) except -1:
    """The trace flags, and the ids unless they are zero."""
    cdef uint64_t number
    if not isinstance(flags, int):
        return LEAVE
    number = PyLong_AsUnsignedLongLongMask(flags)
    if number:
        if number >> 32:
            return LEAVE
        _need(out, 5)
        out.data[out.used] = 0x45
        out.data[out.used + 1] = <char>number
        out.data[out.used + 2] = <char>(number >> 8)
        out.data[out.used + 3] = <char>(number >> 16)
        out.data[out.used + 4] = <char>(number >> 24)
        out.used += 5
    if type(trace_id) is not int or type(span_id) is not int:
        return LEAVE
    if trace_id and _put_trace_id(out, 0x4A, trace_id) == LEAVE:
        return LEAVE
    if span_id and _put_id(out, 0x52, span_id) == LEAVE:
        return LEAVE
    return DONE
