# Part of _otlp_c.pyx: the events and links of a span.


cdef object _items(object held, uint64_t *dropped):
    """The events or links as a list or tuple, and how many the limit dropped; None if stock must read them."""
    dropped[0] = 0
    if type(held) is list or type(held) is tuple:
        return held
    if type(held) is not _BoundedList or not _uint64(held.dropped, dropped) or dropped[0] >> 32:
        return None
    return tuple(held._dq)


cdef int _put_events(EncodedSpans out, object events) except -1:
    cdef Py_ssize_t begin
    cdef uint64_t dropped = 0
    cdef EventState state
    for event in events:
        begin = _open(out, 0x5A, 2)
        if isinstance(event, EventState):
            state = <EventState>event
            if _put_time(out, 0x09, state._timestamp) == LEAVE or _put_text(out, 0x12, state._name) == LEAVE:
                return LEAVE
            dropped = 0
            if state.bounded_attributes is None:
                if _put_key_values(out, 0x1A, state.attribute_store, 0) == LEAVE:
                    return LEAVE
            elif _put_attributes(out, 0x1A, state.bounded_attributes, &dropped) == LEAVE:
                return LEAVE
        elif type(event) is _Event:
            if _put_time(out, 0x09, event._timestamp) == LEAVE or _put_text(out, 0x12, event._name) == LEAVE:
                return LEAVE
            if _put_attributes(out, 0x1A, event._attributes, &dropped) == LEAVE:
                return LEAVE
        else:
            return LEAVE
        _put_varint(out, 0x20, dropped)
        _close(out, begin, 2)
        if out.used >= out.next_turn:
            _take_turn(out)
    return DONE


cdef int _put_links(EncodedSpans out, object links) except -1:
    cdef Py_ssize_t begin
    cdef uint64_t dropped = 0
    for link in links:
        if type(link) is not _Link or type(link._context) is not _SpanContext:
            return LEAVE
        begin = _open(out, 0x6A, 1)
        if _put_ids(out, link._context) == LEAVE:
            return LEAVE
        if _put_attributes(out, 0x22, link._attributes, &dropped) == LEAVE:
            return LEAVE
        _put_varint(out, 0x28, dropped)
        _need(out, 6)
        out.data[out.used] = 0x35
        out.used += 1
        _put_flags(out, link._context)
        _close(out, begin, 1)
    return DONE
