# Part of _otlp_c.pyx: metrics. The pure twin is _otlp_metrics.py.


def encode_metric(EncodedSpans out, metric):
    """Append a metric; False, and nothing appended, where stock's encoder must do it."""
    cdef Py_ssize_t mark = out.used
    cdef int result = LEAVE
    out.next_turn = mark + STRETCH
    try:
        result = _put_metric(out, metric)
    except Exception as error:
        faults.raise_interruption(error)
        if faults.ours(error):
            faults.report("OTLP encoder", error)
    if result == LEAVE:
        out.used = mark
    return result == DONE


cdef int _put_metric(EncodedSpans out, object metric) except -1:
    cdef object data, points
    cdef Py_ssize_t begin, inner
    cdef uint64_t temporality = 0
    cdef bint is_histogram
    if type(metric) is not _Metric:
        return LEAVE
    data = metric.data
    is_histogram = type(data) is _Histogram
    if not (is_histogram or type(data) is _Sum or type(data) is _Gauge):
        return LEAVE
    points = data.data_points
    if (type(points) is not list and type(points) is not tuple) or len(points) == 0:
        return LEAVE
    begin = _open(out, 0x12, 3)
    if (
        _put_text(out, 0x0A, metric.name) == LEAVE
        or _put_text(out, 0x12, metric.description) == LEAVE
        or _put_text(out, 0x1A, metric.unit) == LEAVE
    ):
        return LEAVE
    if type(data) is _Gauge:
        inner = _open(out, 0x2A, 3)
    else:
        if type(data.aggregation_temporality) is not _Temporality:
            return LEAVE
        temporality = data.aggregation_temporality
        inner = _open(out, 0x4A if is_histogram else 0x3A, 3)
    for point in points:
        if is_histogram:
            if _put_histogram_point(out, point) == LEAVE:
                return LEAVE
        elif _put_number_point(out, point, type(data) is _Sum) == LEAVE:
            return LEAVE
        if out.used >= out.next_turn:
            _take_turn(out)
    _put_varint(out, 0x10, temporality)
    if type(data) is _Sum:
        if type(data.is_monotonic) is not bool:
            return LEAVE
        _put_varint(out, 0x18, <uint64_t>data.is_monotonic)
    _close(out, inner, 3)
    return _close(out, begin, 3)


cdef int _put_number_point(EncodedSpans out, object point, bint has_start) except -1:
    cdef Py_ssize_t begin = _open(out, 0x0A, 1)
    cdef uint64_t dropped = 0
    cdef object value
    if type(point) is not _NumberDataPoint:
        return LEAVE
    value = point.value
    if has_start and _put_time(out, 0x11, point.start_time_unix_nano) == LEAVE:
        return LEAVE
    if _put_time(out, 0x19, point.time_unix_nano) == LEAVE:
        return LEAVE
    if type(value) is float and _put_double(out, 0x21, value) == LEAVE:
        return LEAVE
    if _put_exemplars(out, 0x2A, point.exemplars) == LEAVE:
        return LEAVE
    if type(value) is not float and _put_signed(out, 0x31, value) == LEAVE:
        return LEAVE
    if _put_attributes(out, 0x3A, point.attributes, &dropped) == LEAVE:
        return LEAVE
    return _close(out, begin, 1)


cdef int _put_histogram_point(EncodedSpans out, object point) except -1:
    cdef Py_ssize_t begin = _open(out, 0x0A, 2)
    cdef uint64_t dropped = 0, count = 0
    cdef object counts, bounds
    if type(point) is not _HistogramDataPoint:
        return LEAVE
    counts, bounds = point.bucket_counts, point.explicit_bounds
    if type(counts) is not tuple or type(bounds) is not tuple:
        return LEAVE
    if (
        _put_time(out, 0x11, point.start_time_unix_nano) == LEAVE
        or _put_time(out, 0x19, point.time_unix_nano) == LEAVE
        or _put_time(out, 0x21, point.count) == LEAVE
        or _put_double(out, 0x29, point.sum) == LEAVE
    ):
        return LEAVE
    if len(<tuple>counts):
        _put_size(out, 0x32, 8 * len(<tuple>counts))
        for each in <tuple>counts:
            if not _uint64(each, &count):
                return LEAVE
            _little_endian(out.data + out.used, count)
            out.used += 8
    if len(<tuple>bounds):
        _put_size(out, 0x3A, 8 * len(<tuple>bounds))
        for each in <tuple>bounds:
            if not _real(each, &count):
                return LEAVE
            _little_endian(out.data + out.used, count)
            out.used += 8
    if (
        _put_exemplars(out, 0x42, point.exemplars) == LEAVE
        or _put_attributes(out, 0x4A, point.attributes, &dropped) == LEAVE
        or _put_double(out, 0x59, point.min) == LEAVE
        or _put_double(out, 0x61, point.max) == LEAVE
    ):
        return LEAVE
    return _close(out, begin, 2)


cdef int _put_exemplars(EncodedSpans out, unsigned char tag, object exemplars) except -1:
    cdef Py_ssize_t begin
    cdef uint64_t dropped = 0
    if type(exemplars) is not list and type(exemplars) is not tuple:
        return LEAVE
    for exemplar in exemplars:
        if type(exemplar) is not _Exemplar:
            return LEAVE
        begin = _open(out, tag, 1)
        value, span_id, trace_id = exemplar.value, exemplar.span_id, exemplar.trace_id
        if _put_time(out, 0x11, exemplar.time_unix_nano) == LEAVE:
            return LEAVE
        if type(value) is float and _put_double(out, 0x19, value) == LEAVE:
            return LEAVE
        if span_id is not None and trace_id is not None:
            if _put_id(out, 0x22, span_id) == LEAVE or _put_trace_id(out, 0x2A, trace_id) == LEAVE:
                return LEAVE
        if type(value) is not float and _put_signed(out, 0x31, value) == LEAVE:
            return LEAVE
        if _put_attributes(out, 0x3A, exemplar.filtered_attributes, &dropped) == LEAVE:
            return LEAVE
        _close(out, begin, 1)
    return DONE


cdef inline bint _real(object value, uint64_t *number) except -1:
    """Whether the value is a float, or an int that is one exactly; its bits."""
    cdef double real
    if type(value) is float:
        real = value
    elif type(value) is int and -LARGEST_REAL <= value <= LARGEST_REAL:
        real = value
    else:
        return False
    memcpy(number, &real, 8)
    return True


cdef int _put_double(EncodedSpans out, unsigned char tag, object value) except -1:
    """A double field, left out if None."""
    cdef uint64_t number = 0
    if value is None:
        return DONE
    if not _real(value, &number):
        return LEAVE
    _need(out, 9)
    out.data[out.used] = <char>tag
    _little_endian(out.data + out.used + 1, number)
    out.used += 9
    return DONE


cdef int _put_signed(EncodedSpans out, unsigned char tag, object value) except -1:
    """An sfixed64 field, also where it is zero."""
    cdef int overflow = 0
    cdef uint64_t number
    if type(value) is not int:
        return LEAVE
    number = <uint64_t>PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow:
        return LEAVE
    _need(out, 9)
    out.data[out.used] = <char>tag
    _little_endian(out.data + out.used + 1, number)
    out.used += 9
    return DONE


cdef int _put_size(EncodedSpans out, unsigned char tag, Py_ssize_t size) except -1:
    """The head of a packed field, with room for its content."""
    _need(out, size + 12)
    out.data[out.used] = <char>tag
    out.used = _varint(out.data + out.used + 1, size) - out.data
    return DONE


cdef int _put_trace_id(EncodedSpans out, unsigned char tag, object trace_id) except -1:
    cdef uint64_t high = 0
    cdef char *at
    if type(trace_id) is not int or not _uint64(trace_id >> 64, &high):
        return LEAVE
    _need(out, 18)
    at = out.data + out.used
    at[0] = <char>tag
    at[1] = 16
    _big_endian(_big_endian(at + 2, high), PyLong_AsUnsignedLongLongMask(trace_id))
    out.used += 18
    return DONE
