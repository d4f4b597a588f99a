# The traceparent header read and written in C; used by the compiled twin of _propagation.py.

cdef extern from *:
    """
    /* One more than the value of a lower-case hexadecimal digit; 0 for what is none. */
    static const unsigned char otel_fastpath_digits[256] = {
        ['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
        ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    };
    /* Read so many bytes: 1, 0 if all are zero, -1 if one is not written as it must be. */
    static int otel_fastpath_read(const unsigned char *text, int count, unsigned char *bytes) {
        int any = 0;
        for (int i = 0; i < count; i++) {
            int high = otel_fastpath_digits[text[2 * i]], low = otel_fastpath_digits[text[2 * i + 1]];
            if (!high || !low) return -1;
            bytes[i] = (unsigned char)(high - 1 << 4 | low - 1);
            any |= bytes[i];
        }
        return any != 0;
    }
    static void otel_fastpath_write(Py_UCS1 *at, const unsigned char *bytes, int count) {
        for (int i = 0; i < count; i++) {
            at[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
            at[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
        }
    }
    static int otel_fastpath_as_bytes(PyObject *number, unsigned char *bytes, size_t size) {
        if (!PyLong_Check(number)) return -1;
    #if PY_VERSION_HEX >= 0x030D0000
        return _PyLong_AsByteArray((PyLongObject *)number, bytes, size, 0, 0, 0);
    #else
        int result = _PyLong_AsByteArray((PyLongObject *)number, bytes, size, 0, 0);
        if (result) PyErr_Clear();
        return result;
    #endif
    }
    /* The SpanContext that a header of version 00 names, or None where upstream must read it. */
    static PyObject *otel_fastpath_remote_parent(PyObject *type, PyObject *header, PyObject *flags, PyObject *state) {
        unsigned char trace[16], span[8], bits[1];
        if (!PyUnicode_IS_COMPACT_ASCII(header) || PyUnicode_GET_LENGTH(header) != 55) Py_RETURN_NONE;
        const unsigned char *text = PyUnicode_1BYTE_DATA(header);
        if (text[0] != '0' || text[1] != '0' || text[2] != '-' || text[35] != '-' || text[52] != '-'
            || otel_fastpath_read(text + 3, 16, trace) <= 0 || otel_fastpath_read(text + 36, 8, span) <= 0
            || otel_fastpath_read(text + 53, 1, bits) < 0) Py_RETURN_NONE;
        PyObject *made = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 6);
        if (made == NULL) return NULL;
        PyObject *trace_id = _PyLong_FromByteArray(trace, 16, 0, 0), *span_id = _PyLong_FromByteArray(span, 8, 0, 0);
        /* A tuple that is not full yet can be let go. */
        PyTuple_SET_ITEM(made, 0, trace_id);
        PyTuple_SET_ITEM(made, 1, span_id);
        if (trace_id == NULL || span_id == NULL) {
            Py_DECREF(made);
            return NULL;
        }
        PyObject *rest[] = {Py_True, PyTuple_GET_ITEM(flags, bits[0]), state, Py_True};
        for (int i = 0; i < 4; i++) {
            Py_INCREF(rest[i]);
            PyTuple_SET_ITEM(made, 2 + i, rest[i]);
        }
        return made;
    }
    /* The header of a valid SpanContext with this trace state, or None where upstream must write it. */
    static PyObject *otel_fastpath_traceparent(PyObject *context, PyObject *state) {
        unsigned char trace[16], span[8], bits[1];
        if (PyTuple_GET_SIZE(context) != 6 || PyTuple_GET_ITEM(context, 5) != Py_True
            || PyTuple_GET_ITEM(context, 4) != state
            || otel_fastpath_as_bytes(PyTuple_GET_ITEM(context, 0), trace, 16)
            || otel_fastpath_as_bytes(PyTuple_GET_ITEM(context, 1), span, 8)
            || otel_fastpath_as_bytes(PyTuple_GET_ITEM(context, 3), bits, 1)) Py_RETURN_NONE;
        PyObject *header = PyUnicode_New(55, 127);
        if (header == NULL) return NULL;
        Py_UCS1 *text = PyUnicode_1BYTE_DATA(header);
        text[0] = text[1] = '0';
        text[2] = text[35] = text[52] = '-';
        otel_fastpath_write(text + 3, trace, 16);
        otel_fastpath_write(text + 36, span, 8);
        otel_fastpath_write(text + 53, bits, 1);
        return header;
    }
    """
    object c_remote_parent "otel_fastpath_remote_parent"(object kind, object header, object flags, object state)
    object c_traceparent "otel_fastpath_traceparent"(object context, object state)
