"""EncodedSpans straight to OTLP protobuf bytes. The pure twin is `encoder.py`; `trace_requests.py` says what both are for.

Fields are written in the order of their numbers, as protobuf's own encoder does, so that equal spans give equal bytes.
Functions that write return LEAVE for what only stock's encoder may decide; what they wrote is then dropped.
"""
# cython: language_level=3, boundscheck=False, wraparound=False

cimport cython
from cpython.dict cimport PyDict_Size
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.tuple cimport PyTuple_GET_ITEM
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memmove

from otel_fastpath.logs.records.record_c cimport RecordState
from otel_fastpath.trace.spans.recorded_c cimport EventState, SpanState, share_containers

from collections import OrderedDict
from types import MappingProxyType

from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.span import DEFAULT_TRACE_STATE, SpanContext, TraceState
from opentelemetry.trace.status import Status, StatusCode

from otel_fastpath.patching import faults
from otel_fastpath.otlp.trace_requests import resolve
from otel_fastpath.lazy import Lazy

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size)
    unsigned long long PyLong_AsUnsignedLongLong(object number)
    unsigned long long PyLong_AsUnsignedLongLongMask(object number)
    void *PyErr_Occurred()
    void PyErr_Clear()

cdef object LARGEST_REAL = 1 << 53
cdef object _BoundedAttributes = BoundedAttributes
cdef object _Exemplar = Exemplar
cdef object _Gauge = Gauge
cdef object _Histogram = Histogram
cdef object _HistogramDataPoint = HistogramDataPoint
cdef object _Metric = Metric
cdef object _NumberDataPoint = NumberDataPoint
cdef object _Sum = Sum
cdef object _Temporality = AggregationTemporality
cdef object _BoundedList = BoundedList
cdef object _Event = Event
cdef object _Lazy = Lazy
cdef object _Link = Link
cdef object _MappingProxyType = MappingProxyType
cdef object _NO_STATE = DEFAULT_TRACE_STATE
cdef object _OrderedDict = OrderedDict
cdef object _ReadableSpan = ReadableSpan
cdef object _resolve = resolve
cdef object _SpanContext = SpanContext
cdef object _SpanKind = SpanKind
cdef object _Status = Status
cdef object _StatusCode = StatusCode
cdef object _TraceState = TraceState

cdef enum:
    DONE = 0
    LEAVE = 1
    # Deeper values meet limits of protobuf or of Python's stack, stock's way.
    DEEPEST = 24
    # After so many bytes, some 20 microseconds of work, others get their chance.
    STRETCH = 8192


cdef class EncodedSpans:
    """Encoded spans of one scope: a growing run of `ScopeSpans.spans` fields.

    Args:
        turn: Called now and then while encoding: may let other threads run.
        nulls: Whether None is an attribute value, encoded as an empty one.
    """

    cdef char *data
    cdef Py_ssize_t used
    cdef Py_ssize_t room
    cdef Py_ssize_t next_turn
    cdef object turn
    cdef bint nulls
    # The last kind and its number, the last status and whether it is the usual one: nearly always the next, too.
    cdef object kind
    cdef uint64_t kind_number
    cdef object plain_status

    def __init__(self, turn, nulls):
        self.turn = turn
        self.nulls = nulls
        # No kind that a span can have, not even None.
        self.kind = EncodedSpans

    def __dealloc__(self):
        PyMem_Free(self.data)

    def __len__(self):
        return self.used

    def content(self):
        """The bytes so far."""
        return self.data[:self.used]

    def add(self, encoded):
        """Append a span that was encoded elsewhere."""
        cdef bytes text = encoded
        _put_bytes(self, 0x12, text, len(text))


def encode(list spans, Py_ssize_t at, dict groups):
    """Append spans, from index `at` on, to the `EncodedSpans` of their (id of resource, id of scope).

    Returns:
        The index of the first span that was not encoded. Where stock's encoder must do that span, its complement
        (a negative number); else there is no `EncodedSpans` for it yet.
    """
    cdef EncodedSpans out = None
    # Where the span that is being written began; -1 between spans.
    cdef Py_ssize_t mark = -1, left = STRETCH
    cdef object span, resource = None, scope = None, own_resource, own_scope
    cdef int result = DONE
    try:
        while at < PyList_GET_SIZE(spans):
            span = <object>PyList_GET_ITEM(spans, at)
            if isinstance(span, SpanState):
                own_resource, own_scope = (<SpanState>span)._resource, (<SpanState>span)._instrumentation_scope
            elif type(span) is _ReadableSpan:
                own_resource, own_scope = span._resource, span._instrumentation_scope
            else:
                return ~at
            if out is None or own_resource is not resource or own_scope is not scope:
                resource, scope = own_resource, own_scope
                out = groups.get((<size_t><void *>resource, <size_t><void *>scope))
                if out is None:
                    return at
            mark = out.used
            out.next_turn = mark + left
            result = _put_fast_span(out, span) if isinstance(span, SpanState) else _put_readable_span(out, span)
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


cdef int _take_turn(EncodedSpans out) except -1:
    out.next_turn = out.used + STRETCH
    out.turn()
    return DONE


include "encoder_wire.pxi"
include "encoder_attributes.pxi"
include "encoder_metrics.pxi"
include "encoder_logs.pxi"


cdef int _put_fast_span(EncodedSpans out, SpanState span) except -1:
    """A span of the fast path, from its state."""
    cdef Py_ssize_t begin = _open(out, 0x12, 2)
    cdef uint64_t dropped = 0, dropped_events = 0
    cdef object attributes, events, links
    share_containers(span)
    # Another thread may give the span its containers now.
    with cython.critical_section(span):
        attributes = span.bounded_attributes
        events = span.event_store if span.bounded_events is None else span.bounded_events
        links = span.link_store if span.bounded_links is None else span.bounded_links
    context = SpanState.span_context(span)
    if _put_head(out, context, span._parent, span._name, span._kind, span._start_time, span._end_time) == LEAVE:
        return LEAVE
    if attributes is None:
        if _put_key_values(out, 0x4A, span.attribute_store, 0) == LEAVE:
            return LEAVE
    elif _put_attributes(out, 0x4A, attributes, &dropped) == LEAVE:
        return LEAVE
    return _put_rest(out, begin, dropped, events, links, span._status, span._parent)


cdef int _put_readable_span(EncodedSpans out, object span) except -1:
    """A span of exactly stock's class, from its private attributes: what its properties read."""
    cdef Py_ssize_t begin = _open(out, 0x12, 2)
    cdef uint64_t dropped = 0
    cdef object parent = span._parent
    if span._events is None or span._links is None:
        return LEAVE
    if _put_head(out, span._context, parent, span._name, span._kind, span._start_time, span._end_time) == LEAVE:
        return LEAVE
    if _put_attributes(out, 0x4A, span._attributes, &dropped) == LEAVE:
        return LEAVE
    return _put_rest(out, begin, dropped, span._events, span._links, span._status, parent)


cdef int _put_head(
    EncodedSpans out, object context, object parent, object name, object kind, object start, object end
) except -1:
    """The fields of a span up to its times."""
    cdef object state
    if type(context) is not _SpanContext or (kind is not out.kind and type(kind) is not _SpanKind):
        return LEAVE
    if _put_ids(out, context) == LEAVE:
        return LEAVE
    state = <object>PyTuple_GET_ITEM(context, 4)
    if state is not _NO_STATE and state is not None:
        if type(state) is not _TraceState or _put_state(out, state) == LEAVE:
            return LEAVE
    if parent is not None:
        if type(parent) is not _SpanContext:
            return LEAVE
        if _put_id(out, 0x22, <object>PyTuple_GET_ITEM(parent, 1)) == LEAVE:
            return LEAVE
    if _put_text(out, 0x2A, name) == LEAVE:
        return LEAVE
    if kind is not out.kind:
        out.kind_number = <uint64_t>kind._value_ + 1
        out.kind = kind
    _put_varint(out, 0x30, out.kind_number)
    if _put_time(out, 0x39, start) == LEAVE:
        return LEAVE
    return _put_time(out, 0x41, end)


cdef int _put_state(EncodedSpans out, object state) except -1:
    return _put_text(out, 0x1A, ",".join([f"{key}={value}" for key, value in state.items()]))


cdef inline bint _uint64(object value, uint64_t *number) noexcept:
    """Whether the value is exactly an int, and one that 64 bits without a sign can hold."""
    if type(value) is not int:
        return False
    number[0] = PyLong_AsUnsignedLongLong(value)
    if number[0] == <uint64_t>-1 and PyErr_Occurred() is not NULL:
        PyErr_Clear()
        return False
    return True


cdef int _put_ids(EncodedSpans out, object context) except -1:
    """Trace id and span id, fields 1 and 2 of a span and of a link."""
    cdef object trace_id = <object>PyTuple_GET_ITEM(context, 0)
    cdef uint64_t high = 0
    cdef char *at
    if type(trace_id) is not int:
        return LEAVE
    if not _uint64(trace_id >> 64, &high):
        return LEAVE
    _need(out, 18)
    at = out.data + out.used
    at[0] = 0x0A
    at[1] = 16
    at = _big_endian(at + 2, high)
    _big_endian(at, PyLong_AsUnsignedLongLongMask(trace_id))
    out.used += 18
    return _put_id(out, 0x12, <object>PyTuple_GET_ITEM(context, 1))


cdef int _put_id(EncodedSpans out, unsigned char tag, object span_id) except -1:
    cdef uint64_t number = 0
    cdef char *at
    if not _uint64(span_id, &number):
        return LEAVE
    _need(out, 10)
    at = out.data + out.used
    at[0] = <char>tag
    at[1] = 8
    _big_endian(at + 2, number)
    out.used += 10
    return DONE


cdef int _put_time(EncodedSpans out, unsigned char tag, object time) except -1:
    cdef uint64_t number = 0
    if time is None:
        return DONE
    if not _uint64(time, &number):
        return LEAVE
    if number:
        _need(out, 9)
        out.data[out.used] = <char>tag
        _little_endian(out.data + out.used + 1, number)
        out.used += 9
    return DONE


cdef int _put_rest(
    EncodedSpans out, Py_ssize_t begin, uint64_t dropped, object events, object links, object status, object parent
) except -1:
    """The fields of a span behind its attributes, and its size."""
    cdef uint64_t dropped_others = 0
    _put_varint(out, 0x50, dropped)
    if events is not None:
        events = _items(events, &dropped_others)
        if events is None or _put_events(out, events) == LEAVE:
            return LEAVE
        _put_varint(out, 0x60, dropped_others)
    if links is not None:
        links = _items(links, &dropped_others)
        if links is None or _put_links(out, links) == LEAVE:
            return LEAVE
        _put_varint(out, 0x70, dropped_others)
    if _put_status(out, status) == LEAVE:
        return LEAVE
    _need(out, 6)
    out.data[out.used] = <char>0x85
    out.data[out.used + 1] = 0x01
    out.used += 2
    _put_flags(out, parent)
    return _close(out, begin, 2)


cdef int _put_flags(EncodedSpans out, object context) except -1:
    """The content of a flags field; `_need` was asked."""
    cdef bint remote = context is not None and <object>PyTuple_GET_ITEM(context, 2)
    cdef char *at = out.data + out.used
    at[0] = 0
    at[1] = 0x03 if remote else 0x01
    at[2] = at[3] = 0
    out.used += 4
    return DONE


include "encoder_parts.pxi"


cdef int _put_status(EncodedSpans out, object status) except -1:
    cdef Py_ssize_t begin
    if status is None:
        return DONE
    if status is out.plain_status:
        _need(out, 2)
        out.data[out.used] = 0x7A
        out.data[out.used + 1] = 0
        out.used += 2
        return DONE
    if type(status) is not _Status or type(status._status_code) is not _StatusCode:
        return LEAVE
    begin = _open(out, 0x7A, 1)
    if _put_text(out, 0x12, status._description) == LEAVE:
        return LEAVE
    _put_varint(out, 0x18, status._status_code._value_)
    if out.used == begin:
        out.plain_status = status
    return _close(out, begin, 1)
