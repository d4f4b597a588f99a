# Part of _otlp_c.pyx: protobuf's wire format, written into the buffer of a `EncodedSpans`.


cdef int _grow(EncodedSpans out, Py_ssize_t more) except -1:
    cdef Py_ssize_t room = max(out.room * 2, out.used + more, 4096)
    cdef char *data = <char *>PyMem_Realloc(out.data, room)
    if data is NULL:
        raise MemoryError
    out.data = data
    out.room = room
    return DONE


cdef inline int _need(EncodedSpans out, Py_ssize_t more) except -1:
    if out.room - out.used < more:
        return _grow(out, more)
    return DONE


cdef inline char *_varint(char *at, uint64_t number) noexcept:
    while number >= 0x80:
        at[0] = <char>(number | 0x80)
        at += 1
        number >>= 7
    at[0] = <char>number
    return at + 1


cdef inline Py_ssize_t _varint_size(uint64_t number) noexcept:
    cdef Py_ssize_t size = 1
    while number >= 0x80:
        number >>= 7
        size += 1
    return size


cdef inline char *_little_endian(char *at, uint64_t number) noexcept:
    cdef int byte
    for byte in range(8):
        at[byte] = <char>(number >> (8 * byte))
    return at + 8


cdef inline char *_big_endian(char *at, uint64_t number) noexcept:
    cdef int byte
    for byte in range(8):
        at[byte] = <char>(number >> (56 - 8 * byte))
    return at + 8


cdef inline int _put_varint(EncodedSpans out, unsigned char tag, uint64_t number) except -1:
    """A field of variable length, left out if zero."""
    if number:
        _need(out, 12)
        out.data[out.used] = <char>tag
        out.used = _varint(out.data + out.used + 1, number) - out.data
    return DONE


cdef inline int _put_bytes(EncodedSpans out, unsigned char tag, const char *text, Py_ssize_t size) except -1:
    cdef char *at
    _need(out, size + 12)
    at = out.data + out.used
    at[0] = <char>tag
    at = _varint(at + 1, size)
    memcpy(at, text, size)
    out.used = at + size - out.data
    return DONE


cdef int _put_text(EncodedSpans out, unsigned char tag, object text) except -1:
    """A string field, left out if empty or None."""
    cdef Py_ssize_t size = 0
    cdef const char *utf8
    if text is None:
        return DONE
    if not isinstance(text, str):
        return LEAVE
    utf8 = _utf8(text, &size)
    if utf8 is NULL:
        return LEAVE
    if size:
        _put_bytes(out, tag, utf8, size)
    return DONE


cdef inline const char *_utf8(object text, Py_ssize_t *size) noexcept:
    """The UTF-8 of a string; NULL where there is none: it has a lone surrogate."""
    cdef const char *utf8 = PyUnicode_AsUTF8AndSize(text, size)
    if utf8 is NULL:
        PyErr_Clear()
    return utf8


cdef Py_ssize_t _open(EncodedSpans out, unsigned char tag, int size_bytes) except -1:
    """Begin a message whose size takes so many bytes, probably; gives where its content begins."""
    _need(out, size_bytes + 1)
    out.data[out.used] = <char>tag
    out.used += 1 + size_bytes
    return out.used


cdef int _close(EncodedSpans out, Py_ssize_t begin, int size_bytes) except -1:
    """End the message: write its size, and move its content where that takes more or less room."""
    cdef Py_ssize_t size = out.used - begin
    cdef Py_ssize_t shift = _varint_size(size) - size_bytes
    if shift:
        _need(out, 10)
        memmove(out.data + begin + shift, out.data + begin, size)
        out.used += shift
    _varint(out.data + begin - size_bytes, size)
    return DONE
