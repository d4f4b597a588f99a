# Part of _otlp_c.pyx: attributes and their values.


cdef int _put_attributes(EncodedSpans out, unsigned char tag, object attributes, uint64_t *dropped) except -1:
    """Attributes as stock's classes hold them, and how many their limit dropped."""
    cdef object held = attributes
    dropped[0] = 0
    if type(attributes) is _BoundedAttributes:
        held = attributes._dict
        if not _uint64(attributes.dropped, dropped) or dropped[0] >> 32:
            return LEAVE
    elif attributes is None:
        return DONE
    elif type(attributes) is _MappingProxyType:
        # What ReadableSpan.attributes gives, and copies of spans are made from.
        held = dict(attributes)
    if type(held) is _OrderedDict:
        # Until 1.42 a container that is full.
        held = dict(held)
    if type(held) is not dict:
        return LEAVE
    return _put_key_values(out, tag, <dict>held, 0)


cdef int _put_key_values(EncodedSpans out, unsigned char tag, dict attributes, int depth) except -1:
    cdef object key, value
    if PyDict_Size(attributes) == 0:
        return DONE
    for key, value in attributes.items():
        if _put_key_value(out, tag, key, value, depth) == LEAVE:
            return LEAVE
    return DONE


cdef int _put_key_value(EncodedSpans out, unsigned char tag, object key, object value, int depth) except -1:
    """A `KeyValue` message. That of a primitive is written in one go: its size is known."""
    cdef Py_ssize_t key_size = 0, text_size = 0, value_size, size
    cdef const char *key_text
    cdef const char *text = NULL
    cdef unsigned char kind
    cdef uint64_t number = 0
    cdef char *at
    # Stock takes the str() of a nested key: of an enumeration's member that is not its text.
    if type(key) is not str and (depth or not isinstance(key, str)):
        return LEAVE
    key_text = _utf8(key, &key_size)
    if key_text is NULL:
        return LEAVE
    kind = _primitive(value, &number, &text, &text_size)
    if kind == 0:
        return _put_long_key_value(out, tag, key_text, key_size, value, depth)
    if kind == 0x10 or kind == 0x18:
        value_size = 1 + _varint_size(number)
    elif kind == 0x21:
        value_size = 9
    else:
        value_size = 1 + _varint_size(text_size) + text_size
    size = 1 + _varint_size(value_size) + value_size
    if key_size:
        size += 1 + _varint_size(key_size) + key_size
    _need(out, size + 12)
    at = out.data + out.used
    at[0] = <char>tag
    at = _varint(at + 1, size)
    if key_size:
        at[0] = 0x0A
        at = _varint(at + 1, key_size)
        memcpy(at, key_text, key_size)
        at += key_size
    at[0] = 0x12
    at = _varint(at + 1, value_size)
    at[0] = <char>kind
    at += 1
    if kind == 0x10 or kind == 0x18:
        at = _varint(at, number)
    elif kind == 0x21:
        at = _little_endian(at, number)
    else:
        at = _varint(at, text_size)
        memcpy(at, text, text_size)
        at += text_size
    out.used = at - out.data
    return DONE


cdef unsigned char _primitive(object value, uint64_t *number, const char **text, Py_ssize_t *size) except 0xFF:
    """The tag of the field of `AnyValue` that holds this value, and its content; 0 if it is no primitive.

    Subclasses count as what they inherit, as in stock's isinstance: an HTTPStatus is an int.
    """
    cdef int overflow = 0
    cdef double real
    if isinstance(value, str):
        text[0] = _utf8(value, size)
        return 0 if text[0] is NULL else 0x0A
    if value is True or value is False:
        number[0] = 1 if value is True else 0
        return 0x10
    if isinstance(value, int):
        number[0] = <uint64_t>PyLong_AsLongLongAndOverflow(value, &overflow)
        return 0 if overflow else 0x18
    if isinstance(value, float):
        real = value
        memcpy(number, &real, 8)
        return 0x21
    if isinstance(value, bytes):
        text[0] = <const char *>(<bytes>value)
        size[0] = len(<bytes>value)
        return 0x3A
    return 0


cdef int _put_long_key_value(
    EncodedSpans out, unsigned char tag, const char *key, Py_ssize_t key_size, object value, int depth
) except -1:
    cdef Py_ssize_t begin = _open(out, tag, 1), value_begin
    if key_size:
        _put_bytes(out, 0x0A, key, key_size)
    value_begin = _open(out, 0x12, 1)
    if _put_value(out, value, depth) == LEAVE:
        return LEAVE
    _close(out, value_begin, 1)
    return _close(out, begin, 1)


cdef int _put_value(EncodedSpans out, object value, int depth) except -1:
    """The content of an `AnyValue` message."""
    cdef const char *text = NULL
    cdef uint64_t number = 0
    cdef Py_ssize_t size = 0, begin
    cdef unsigned char kind
    if isinstance(value, _Lazy):
        out.next_turn = out.used + STRETCH
        value = _resolve(value, out.turn)
    if value is None:
        return DONE if out.nulls else LEAVE
    kind = _primitive(value, &number, &text, &size)
    if kind == 0x0A or kind == 0x3A:
        return _put_bytes(out, kind, text, size)
    if kind:
        _need(out, 12)
        out.data[out.used] = <char>kind
        if kind == 0x21:
            out.used = _little_endian(out.data + out.used + 1, number) - out.data
        else:
            out.used = _varint(out.data + out.used + 1, number) - out.data
        return DONE
    if depth >= DEEPEST:
        return LEAVE
    if type(value) is tuple or type(value) is list:
        begin = _open(out, 0x2A, 1)
        if _put_sequence(out, value, depth + 1) == LEAVE:
            return LEAVE
    elif type(value) is dict:
        begin = _open(out, 0x32, 1)
        if _put_key_values(out, 0x0A, <dict>value, depth + 1) == LEAVE:
            return LEAVE
    else:
        return LEAVE
    return _close(out, begin, 1)


cdef int _put_sequence(EncodedSpans out, object values, int depth) except -1:
    cdef Py_ssize_t begin
    for value in values:
        begin = _open(out, 0x0A, 1)
        if _put_value(out, value, depth) == LEAVE:
            return LEAVE
        _close(out, begin, 1)
    return DONE
