# The C API for what is a chain of calls in Python; used by the compiled twins where COMPILED is true.
from cpython.object cimport PyObject

cdef extern from *:
    """
    #define OTEL_FASTPATH_COMPILED 1
    #include <time.h>
    #ifdef _WIN32
    #include <process.h>
    #define otel_fastpath_getpid _getpid
    #else
    #include <unistd.h>
    #define otel_fastpath_getpid getpid
    #endif
    static PyObject *otel_fastpath_now(void) {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return PyLong_FromLongLong((long long)now.tv_sec * 1000000000LL + now.tv_nsec);
    }
    static PyObject *otel_fastpath_new_dict(PyObject *type) {
        return PyDict_Type.tp_new((PyTypeObject *)type, NULL, NULL);
    }
    static PyObject *otel_fastpath_new_instance(PyObject *type) {
        PyObject *none = PyTuple_New(0);
        PyObject *made = ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, none, NULL);
        Py_DECREF(none);
        return made;
    }
    /* -1 where the character is no lower-case hexadecimal digit. */
    static int otel_fastpath_digit(Py_UCS4 c) {
        return c >= '0' && c <= '9' ? (int)c - '0' : c >= 'a' && c <= 'f' ? (int)c - 'a' + 10 : -1;
    }
    static int otel_fastpath_digits(PyObject *text, Py_ssize_t start, Py_ssize_t count, unsigned long long *value) {
        *value = 0;
        for (Py_ssize_t i = start; i < start + count; i++) {
            int digit = otel_fastpath_digit(PyUnicode_READ_CHAR(text, i));
            if (digit < 0) return 0;
            *value = *value << 4 | (unsigned long long)digit;
        }
        return 1;
    }
    /* Whether the text is 00-<32 digits>-<16 digits>-<2 digits>. */
    static int otel_fastpath_parse(PyObject *text, unsigned long long *high, unsigned long long *low,
                                   unsigned long long *span, unsigned long long *flags) {
        return PyUnicode_GET_LENGTH(text) == 55
            && PyUnicode_READ_CHAR(text, 0) == '0' && PyUnicode_READ_CHAR(text, 1) == '0'
            && PyUnicode_READ_CHAR(text, 2) == '-' && PyUnicode_READ_CHAR(text, 35) == '-'
            && PyUnicode_READ_CHAR(text, 52) == '-'
            && otel_fastpath_digits(text, 3, 16, high) && otel_fastpath_digits(text, 19, 16, low)
            && otel_fastpath_digits(text, 36, 16, span) && otel_fastpath_digits(text, 53, 2, flags);
    }
    static void otel_fastpath_hex(char *at, unsigned long long value, int count) {
        while (count--) {
            at[count] = "0123456789abcdef"[value & 15];
            value >>= 4;
        }
    }
    static PyObject *otel_fastpath_header(unsigned long long high, unsigned long long low,
                                          unsigned long long span, int flags) {
        char text[55] = "00-";
        otel_fastpath_hex(text + 3, high, 16);
        otel_fastpath_hex(text + 19, low, 16);
        text[35] = '-';
        otel_fastpath_hex(text + 36, span, 16);
        text[52] = '-';
        otel_fastpath_hex(text + 53, (unsigned long long)flags, 2);
        return PyUnicode_FromStringAndSize(text, 55);
    }
    static PyObject *otel_fastpath_new_tuple(PyObject *type, Py_ssize_t size) {
        return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, size);
    }
    """
    const bint COMPILED "OTEL_FASTPATH_COMPILED"
    int c_getpid "otel_fastpath_getpid"()
    object c_now "otel_fastpath_now"()
    object c_new_dict "otel_fastpath_new_dict"(object kind)
    bint c_parse_header "otel_fastpath_parse"(
        object text,
        unsigned long long *high,
        unsigned long long *low,
        unsigned long long *span,
        unsigned long long *flags,
    )
    object c_header "otel_fastpath_header"(
        unsigned long long high, unsigned long long low, unsigned long long span, int flags
    )
    object c_new_instance "otel_fastpath_new_instance"(object kind)
    object c_new_tuple "otel_fastpath_new_tuple"(object kind, Py_ssize_t size)

cdef extern from "Python.h":
    object PyContextVar_Set(object variable, object value)
    int PyContextVar_Reset(object variable, object token) except -1
    int PyContextVar_Get(object variable, PyObject *default, PyObject **value) except -1
    int PyDict_SetItem(object mapping, object key, object value) except -1
    int PyDict_Update(object mapping, PyObject *other) except -1
    PyObject *PyDict_GetItemWithError(PyObject *mapping, object key) except? NULL
    Py_ssize_t PyDict_Size(PyObject *mapping) except -1
    void Py_XDECREF(PyObject *value)
    void Py_INCREF(object value)
    void PyTuple_SET_ITEM(object value, Py_ssize_t index, object item)


cdef inline object c_current(object variable, object key):
    """The current context's value for the key, or None."""
    cdef PyObject *context = NULL
    cdef PyObject *value
    PyContextVar_Get(variable, NULL, &context)
    try:
        value = PyDict_GetItemWithError(context, key)
        return None if value is NULL else <object>value
    finally:
        Py_XDECREF(context)


cdef inline object c_attach(object variable, object kind, object key, object span):
    """Set the current context's successor that has the span under the key; returns the token."""
    cdef PyObject *current = NULL
    PyContextVar_Get(variable, NULL, &current)
    try:
        context = c_new_dict(kind)
        if PyDict_Size(current):
            PyDict_Update(context, current)
        PyDict_SetItem(context, key, span)
        return PyContextVar_Set(variable, context)
    finally:
        Py_XDECREF(current)


cdef inline int c_detach(object variable, object token) except -1:
    return PyContextVar_Reset(variable, token)


cdef inline object c_context_with(object kind, object current, object key, object span):
    """The context (None: an empty one) with the span under the key."""
    context = c_new_dict(kind)
    if current is not None:
        PyDict_Update(context, <PyObject *>current)
    PyDict_SetItem(context, key, span)
    return context


cdef inline object c_span_context_of(
    object kind, object trace_id, object span_id, object is_remote, object flags, object state
):
    """A valid SpanContext, which is a tuple of six."""
    made = c_new_tuple(kind, 6)
    Py_INCREF(trace_id)
    PyTuple_SET_ITEM(made, 0, trace_id)
    Py_INCREF(span_id)
    PyTuple_SET_ITEM(made, 1, span_id)
    Py_INCREF(is_remote)
    PyTuple_SET_ITEM(made, 2, is_remote)
    Py_INCREF(flags)
    PyTuple_SET_ITEM(made, 3, flags)
    Py_INCREF(state)
    PyTuple_SET_ITEM(made, 4, state)
    Py_INCREF(True)
    PyTuple_SET_ITEM(made, 5, True)
    return made


cdef inline object c_span_context(object kind, object trace_id, object span_id, object flags, object state):
    return c_span_context_of(kind, trace_id, span_id, False, flags, state)


cdef inline object c_remote_span_context(object kind, object trace_id, object span_id, object flags, object state):
    return c_span_context_of(kind, trace_id, span_id, True, flags, state)


cdef inline object c_parsed(str header):
    """(trace id, span id, flags) of a traceparent header of version 00, or None where it is anything else."""
    cdef unsigned long long high = 0, low = 0, span = 0, flags = 0
    if not c_parse_header(header, &high, &low, &span, &flags):
        return None
    return (<object>high << 64 | low if high else <object>low, <object>span, <int>flags)


cdef inline object c_formatted(object trace_id, unsigned long long span_id, int flags):
    """The traceparent header."""
    cdef unsigned long long high = trace_id >> 64
    cdef unsigned long long low = trace_id & 0xFFFFFFFFFFFFFFFF
    return c_header(high, low, span_id, flags)
