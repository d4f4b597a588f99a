# The C forms of baggage_header.py.

cdef extern from *:
    """
    enum { OTEL_FASTPATH_MOST_PAIRS = 180, OTEL_FASTPATH_LONGEST_PAIR = 4096, OTEL_FASTPATH_LONGEST_BAGGAGE = 8192 };
    /* What a character may be: 1 in a key, 2 in a value, 4 without an escape. */
    static const unsigned char otel_fastpath_in_baggage[256] = {
        ['!'] = 3, ['#'] = 3, ['$'] = 3, ['%'] = 3, ['&'] = 3, ['\\''] = 3, ['('] = 2, [')'] = 2, ['*'] = 3, ['+'] = 3,
        ['-'] = 7, ['.'] = 7, ['/'] = 2, ['0'] = 7, ['1'] = 7, ['2'] = 7, ['3'] = 7, ['4'] = 7, ['5'] = 7, ['6'] = 7,
        ['7'] = 7, ['8'] = 7, ['9'] = 7, [':'] = 2, ['<'] = 2, ['='] = 2, ['>'] = 2, ['?'] = 2, ['@'] = 2, ['A'] = 7,
        ['B'] = 7, ['C'] = 7, ['D'] = 7, ['E'] = 7, ['F'] = 7, ['G'] = 7, ['H'] = 7, ['I'] = 7, ['J'] = 7, ['K'] = 7,
        ['L'] = 7, ['M'] = 7, ['N'] = 7, ['O'] = 7, ['P'] = 7, ['Q'] = 7, ['R'] = 7, ['S'] = 7, ['T'] = 7, ['U'] = 7,
        ['V'] = 7, ['W'] = 7, ['X'] = 7, ['Y'] = 7, ['Z'] = 7, ['['] = 2, [']'] = 2, ['^'] = 3, ['_'] = 7, ['`'] = 3,
        ['a'] = 7, ['b'] = 7, ['c'] = 7, ['d'] = 7, ['e'] = 7, ['f'] = 7, ['g'] = 7, ['h'] = 7, ['i'] = 7, ['j'] = 7,
        ['k'] = 7, ['l'] = 7, ['m'] = 7, ['n'] = 7, ['o'] = 7, ['p'] = 7, ['q'] = 7, ['r'] = 7, ['s'] = 7, ['t'] = 7,
        ['u'] = 7, ['v'] = 7, ['w'] = 7, ['x'] = 7, ['y'] = 7, ['z'] = 7, ['{'] = 2, ['|'] = 3, ['}'] = 2, ['~'] = 7,
    };
    /* The value of a hexadecimal digit; -1 for what is none. */
    static int otel_fastpath_digit(unsigned char digit) {
        if (digit >= '0' && digit <= '9') return digit - '0';
        digit |= 32;
        return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
    }
    /* The place behind a text that is written with escapes; -1 if it is left to stock. Of no text, no code is called. */
    static Py_ssize_t otel_fastpath_escape(char *buffer, Py_ssize_t at, Py_ssize_t end, PyObject *value) {
        PyObject *text = NULL, *encoded = NULL;
        const unsigned char *bytes;
        Py_ssize_t size;
        int overflow = 0;
        if (PyUnicode_CheckExact(value)) {
            text = Py_NewRef(value);
        } else if (PyLong_CheckExact(value)) {
            PyLong_AsLongLongAndOverflow(value, &overflow);
            text = overflow ? NULL : PyObject_Str(value);
        } else if (PyBool_Check(value) || PyFloat_CheckExact(value) || value == Py_None) {
            text = PyObject_Str(value);
        }
        /* A character has at least one byte. */
        if (text == NULL || PyUnicode_GET_LENGTH(text) > end - at) goto left;
        if (PyUnicode_IS_ASCII(text)) {
            bytes = PyUnicode_1BYTE_DATA(text);
            size = PyUnicode_GET_LENGTH(text);
        } else {
            encoded = PyUnicode_AsUTF8String(text);
            if (encoded == NULL) goto left;
            bytes = (const unsigned char *)PyBytes_AS_STRING(encoded);
            size = PyBytes_GET_SIZE(encoded);
        }
        for (Py_ssize_t i = 0; i < size; i++) {
            if (at + 3 > end) {
                if (at + 1 > end || !(otel_fastpath_in_baggage[bytes[i]] & 4 || bytes[i] == ' ')) goto left;
            }
            if (otel_fastpath_in_baggage[bytes[i]] & 4) {
                buffer[at++] = (char)bytes[i];
            } else if (bytes[i] == ' ') {
                buffer[at++] = '+';
            } else {
                buffer[at++] = '%';
                buffer[at++] = "0123456789ABCDEF"[bytes[i] >> 4];
                buffer[at++] = "0123456789ABCDEF"[bytes[i] & 15];
            }
        }
        Py_DECREF(text);
        Py_XDECREF(encoded);
        return at;
    left:
        PyErr_Clear();
        Py_XDECREF(text);
        Py_XDECREF(encoded);
        return -1;
    }
    static PyObject *otel_fastpath_write_baggage(PyObject *entries) {
        char buffer[OTEL_FASTPATH_LONGEST_BAGGAGE];
        Py_ssize_t place = 0, at = 0, begin, end;
        PyObject *key, *value;
        if (PyDict_Size(entries) > OTEL_FASTPATH_MOST_PAIRS) Py_RETURN_NONE;
        #ifdef Py_GIL_DISABLED
        Py_BEGIN_CRITICAL_SECTION(entries);
        #endif
        while (at >= 0 && PyDict_Next(entries, &place, &key, &value)) {
            begin = at + (at > 0);
            end = begin + OTEL_FASTPATH_LONGEST_PAIR;
            if (end > OTEL_FASTPATH_LONGEST_BAGGAGE) end = OTEL_FASTPATH_LONGEST_BAGGAGE;
            if (begin >= end || !PyUnicode_CheckExact(key)) {
                at = -1;
                break;
            }
            if (at) buffer[at] = ',';
            at = otel_fastpath_escape(buffer, begin, end, key);
            if (at < 0) break;
            if (at >= end) {
                at = -1;
                break;
            }
            buffer[at++] = '=';
            at = otel_fastpath_escape(buffer, at, end, value);
        }
        #ifdef Py_GIL_DISABLED
        Py_END_CRITICAL_SECTION();
        #endif
        if (at < 0) Py_RETURN_NONE;
        return PyUnicode_FromStringAndSize(buffer, at);
    }
    /* The text of a part of a header that has no spaces, without its escapes, and then without spaces around it. */
    static PyObject *otel_fastpath_unescape(const unsigned char *text, Py_ssize_t size) {
        char buffer[OTEL_FASTPATH_LONGEST_PAIR];
        Py_ssize_t at = 0;
        int changed = 0;
        for (Py_ssize_t i = 0; i < size; i++) {
            int high = -1, low = -1;
            if (text[i] == '%' && i + 2 < size) {
                high = otel_fastpath_digit(text[i + 1]);
                low = otel_fastpath_digit(text[i + 2]);
            }
            if (high >= 0 && low >= 0) {
                buffer[at++] = (char)(high << 4 | low);
                i += 2;
                changed = 1;
            } else {
                changed |= text[i] == '+';
                buffer[at++] = text[i] == '+' ? ' ' : (char)text[i];
            }
        }
        PyObject *found = PyUnicode_DecodeUTF8(buffer, at, "replace");
        if (found == NULL || !changed) return found;
        Py_ssize_t length = PyUnicode_GET_LENGTH(found);
        if (!length || !(Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(found, 0))
                         || Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(found, length - 1)))) return found;
        PyObject *stripped = PyObject_CallMethod(found, "strip", NULL);
        Py_DECREF(found);
        return stripped;
    }
    static Py_ssize_t otel_fastpath_read_baggage(PyObject *header, PyObject *entries) {
        const unsigned char *text;
        Py_ssize_t at = 0, begin, equals, end, size = PyUnicode_GET_LENGTH(header);
        PyObject *key, *value;
        int failed;
        if (!PyUnicode_IS_ASCII(header)) return 0;
        text = PyUnicode_1BYTE_DATA(header);
        while (at < size) {
            begin = at;
            while (at < size && otel_fastpath_in_baggage[text[at]] & 1) at++;
            equals = at;
            if (at > begin) {
                if (at == size || text[at] != '=') return begin;
                for (at++; at < size && otel_fastpath_in_baggage[text[at]] & 2; at++) {}
                while (at < size && text[at] == ';') {
                    Py_ssize_t property = ++at;
                    while (at < size && otel_fastpath_in_baggage[text[at]] & 1) at++;
                    if (at == property) return begin;
                    if (at < size && text[at] == '=') {
                        for (at++; at < size && otel_fastpath_in_baggage[text[at]] & 2; at++) {}
                    }
                }
            }
            end = at;
            /* Spaces before a comma; at the end, some releases of stock refuse them. */
            while (end > begin && at < size && (text[at] == ' ' || text[at] == '\\t')) at++;
            if (at == size ? at > end : text[at] != ',') return begin;
            if (end - begin > OTEL_FASTPATH_LONGEST_PAIR) return begin;
            if (end > begin) {
                key = otel_fastpath_unescape(text + begin, equals - begin);
                value = key == NULL ? NULL : otel_fastpath_unescape(text + equals + 1, end - equals - 1);
                failed = value == NULL || PyDict_SetItem(entries, key, value);
                Py_XDECREF(key);
                Py_XDECREF(value);
                if (failed) return -2;
            }
            if (at < size) {
                for (at++; at < size && (text[at] == ' ' || text[at] == '\\t'); at++) {}
            }
        }
        return -1;
    }
    """
    object write_baggage "otel_fastpath_write_baggage"(dict entries)
    Py_ssize_t read_baggage "otel_fastpath_read_baggage"(str header, dict entries) except -2
