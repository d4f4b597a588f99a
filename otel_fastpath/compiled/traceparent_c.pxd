# The C forms of traceparent.py.

cdef extern from *:
    """
    /* One more than the value of a lower-case hexadecimal digit; 0 for what is none. */
    static const unsigned char otel_fastpath_digits[256] = {
        ['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
        ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    };
    /* Read a number of so many digits; 0 where one of them is not written as it must be. */
    static int otel_fastpath_read(const Py_UCS1 *text, int digits, unsigned long long *number) {
        *number = 0;
        for (int i = 0; i < digits; i++) {
            int digit = otel_fastpath_digits[text[i]];
            if (!digit) return 0;
            *number = *number << 4 | (unsigned)(digit - 1);
        }
        return 1;
    }
    /* Two digits at a time; there is an even number of them. */
    static void otel_fastpath_write(Py_UCS1 *text, int digits, unsigned long long number) {
        static const char pairs[] =
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
            "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
            "404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f"
            "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f"
            "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f"
            "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
            "c0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf"
            "e0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
        while ((digits -= 2) >= 0) {
            memcpy(text + digits, pairs + 2 * (number & 255), 2);
            number >>= 8;
        }
    }
    static PyObject *otel_fastpath_from_128_bits(unsigned long long high, unsigned long long low) {
        PyObject *upper, *lower, *places, *shifted = NULL, *number = NULL;
        if (!high) return PyLong_FromUnsignedLongLong(low);
    #if PY_VERSION_HEX >= 0x030D0000
        unsigned char bytes[16];
        for (int i = 0; i < 8; i++) {
            bytes[i] = (unsigned char)(low >> 8 * i);
            bytes[8 + i] = (unsigned char)(high >> 8 * i);
        }
        return PyLong_FromUnsignedNativeBytes(bytes, sizeof bytes, Py_ASNATIVEBYTES_LITTLE_ENDIAN);
    #endif
        upper = PyLong_FromUnsignedLongLong(high);
        lower = PyLong_FromUnsignedLongLong(low);
        places = PyLong_FromLong(64);
        if (upper != NULL && lower != NULL && places != NULL) shifted = PyNumber_Lshift(upper, places);
        if (shifted != NULL) number = PyNumber_Or(shifted, lower);
        Py_XDECREF(upper);
        Py_XDECREF(lower);
        Py_XDECREF(places);
        Py_XDECREF(shifted);
        return number;
    }
    static PyObject *otel_fastpath_read_traceparent(PyObject *header) {
        unsigned long long high, low, span, flags;
        if (!PyUnicode_IS_ASCII(header) || PyUnicode_GET_LENGTH(header) != 55) Py_RETURN_NONE;
        const Py_UCS1 *text = PyUnicode_1BYTE_DATA(header);
        if (text[0] != '0' || text[1] != '0' || text[2] != '-' || text[35] != '-' || text[52] != '-'
            || !otel_fastpath_read(text + 3, 16, &high) || !otel_fastpath_read(text + 19, 16, &low)
            || !otel_fastpath_read(text + 36, 16, &span) || !otel_fastpath_read(text + 53, 2, &flags)
            || !(high || low) || !span) Py_RETURN_NONE;
        PyObject *trace_id = otel_fastpath_from_128_bits(high, low);
        PyObject *span_id = PyLong_FromUnsignedLongLong(span), *bits = PyLong_FromLong((long)flags), *read = NULL;
        if (trace_id != NULL && span_id != NULL && bits != NULL) read = PyTuple_Pack(3, trace_id, span_id, bits);
        Py_XDECREF(trace_id);
        Py_XDECREF(span_id);
        Py_XDECREF(bits);
        return read;
    }
    /* Whether it is a number of 64 bits. */
    static int otel_fastpath_as_64_bits(PyObject *value, unsigned long long *number) {
        *number = PyLong_AsUnsignedLongLong(value);
        return *number != (unsigned long long)-1 || !PyErr_Occurred();
    }
    /* Whether it is a number of 128 bits, and its two halves. */
    static int otel_fastpath_as_128_bits(PyObject *value, unsigned long long *high, unsigned long long *low) {
    #if PY_VERSION_HEX >= 0x030D0000
        unsigned char bytes[16];
        const int how = Py_ASNATIVEBYTES_LITTLE_ENDIAN | Py_ASNATIVEBYTES_UNSIGNED_BUFFER
                        | Py_ASNATIVEBYTES_REJECT_NEGATIVE;
        Py_ssize_t needed = PyLong_Check(value) ? PyLong_AsNativeBytes(value, bytes, sizeof bytes, how) : -1;
        if (needed < 0 || needed > (Py_ssize_t)sizeof bytes) return 0;
        *high = *low = 0;
        for (int i = 7; i >= 0; i--) {
            *low = *low << 8 | bytes[i];
            *high = *high << 8 | bytes[8 + i];
        }
        return 1;
    #else
        PyObject *places = PyLong_FromLong(64), *upper = NULL;
        int done = 0;
        if (places != NULL && PyLong_Check(value)) upper = PyNumber_Rshift(value, places);
        if (upper != NULL) {
            *low = PyLong_AsUnsignedLongLongMask(value);
            done = otel_fastpath_as_64_bits(upper, high);
        }
        Py_XDECREF(places);
        Py_XDECREF(upper);
        return done;
    #endif
    }
    static PyObject *otel_fastpath_write_traceparent(PyObject *trace_id, PyObject *span_id, PyObject *flags) {
        unsigned long long high, low, span, bits;
        if (!PyLong_Check(span_id) || !PyLong_Check(flags) || !otel_fastpath_as_128_bits(trace_id, &high, &low)
            || !otel_fastpath_as_64_bits(span_id, &span) || !otel_fastpath_as_64_bits(flags, &bits) || bits > 255) {
            PyErr_Clear();
            Py_RETURN_NONE;
        }
        PyObject *header = PyUnicode_New(55, 127);
        if (header == NULL) return NULL;
        Py_UCS1 *text = PyUnicode_1BYTE_DATA(header);
        text[0] = text[1] = '0';
        text[2] = text[35] = text[52] = '-';
        otel_fastpath_write(text + 3, 16, high);
        otel_fastpath_write(text + 19, 16, low);
        otel_fastpath_write(text + 36, 16, span);
        otel_fastpath_write(text + 53, 2, bits);
        return header;
    }
    /* Read at most 32 digits, in upper or lower case. */
    static PyObject *otel_fastpath_read_hexadecimal(PyObject *digits) {
        unsigned long long high = 0, low = 0;
        Py_ssize_t size = PyUnicode_GET_LENGTH(digits);
        if (!size || size > 32 || !PyUnicode_IS_ASCII(digits)) Py_RETURN_NONE;
        const Py_UCS1 *text = PyUnicode_1BYTE_DATA(digits);
        Py_ssize_t at = 0;
        for (; at < size - 16; at++) {
            int digit = text[at] < '0' ? 0 : otel_fastpath_digits[text[at] | 32];
            if (!digit) Py_RETURN_NONE;
            high = high << 4 | (unsigned)(digit - 1);
        }
        for (; at < size; at++) {
            int digit = text[at] < '0' ? 0 : otel_fastpath_digits[text[at] | 32];
            if (!digit) Py_RETURN_NONE;
            low = low << 4 | (unsigned)(digit - 1);
        }
        return otel_fastpath_from_128_bits(high, low);
    }
    static PyObject *otel_fastpath_write_hexadecimal(PyObject *number, int digits) {
        unsigned long long high = 0, low;
        PyObject *format, *written;
        if (PyLong_CheckExact(number) && digits <= 32
            && (digits > 16 ? otel_fastpath_as_128_bits(number, &high, &low)
                : otel_fastpath_as_64_bits(number, &low) && (digits == 16 || !(low >> (4 * digits))))) {
            if ((written = PyUnicode_New(digits, 127)) == NULL) return NULL;
            otel_fastpath_write(PyUnicode_1BYTE_DATA(written), digits > 16 ? digits - 16 : 0, high);
            otel_fastpath_write(PyUnicode_1BYTE_DATA(written) + (digits > 16 ? digits - 16 : 0),
                                digits > 16 ? 16 : digits, low);
            return written;
        }
        PyErr_Clear();
        format = PyUnicode_FromFormat("0%dx", digits);
        written = format == NULL ? NULL : PyObject_Format(number, format);
        Py_XDECREF(format);
        return written;
    }
    """
    object read_hexadecimal "otel_fastpath_read_hexadecimal"(str text)
    str write_hexadecimal "otel_fastpath_write_hexadecimal"(object number, int digits)
    object read_traceparent "otel_fastpath_read_traceparent"(str header)
    object write_traceparent "otel_fastpath_write_traceparent"(object trace_id, object span_id, object flags)
