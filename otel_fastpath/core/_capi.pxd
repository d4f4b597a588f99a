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
    static PyObject *otel_fastpath_new_tuple(PyObject *type, Py_ssize_t size) {
        return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, size);
    }
    """
    const bint COMPILED "OTEL_FASTPATH_COMPILED"
    int c_getpid "otel_fastpath_getpid"()
    object c_now "otel_fastpath_now"()
    object c_new_dict "otel_fastpath_new_dict"(object kind)
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


cdef inline object c_value(object context, object key):
    """A context's value for the key, or None."""
    cdef PyObject *value = PyDict_GetItemWithError(<PyObject *>context, key)
    return None if value is NULL else <object>value


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


cdef inline object c_span_context(object kind, object trace_id, object span_id, object flags, object state):
    """A valid SpanContext of this process, which is a tuple of six."""
    made = c_new_tuple(kind, 6)
    Py_INCREF(trace_id)
    PyTuple_SET_ITEM(made, 0, trace_id)
    Py_INCREF(span_id)
    PyTuple_SET_ITEM(made, 1, span_id)
    Py_INCREF(False)
    PyTuple_SET_ITEM(made, 2, False)
    Py_INCREF(flags)
    PyTuple_SET_ITEM(made, 3, flags)
    Py_INCREF(state)
    PyTuple_SET_ITEM(made, 4, state)
    Py_INCREF(True)
    PyTuple_SET_ITEM(made, 5, True)
    return made
