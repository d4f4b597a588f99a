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
    /* Whether a module's global is this object. */
    static int otel_fastpath_is_global(PyObject *globals, PyObject *name, PyObject *expected) {
        PyObject *found = PyDict_GetItemWithError(globals, name);
        if (found != expected) return found == NULL && PyErr_Occurred() ? -1 : 0;
        return 1;
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
    /* Whether the key is a text that is not empty, and the value of a primitive type and no longer than allowed. */
    static int otel_fastpath_is_plain_item(PyObject *key, PyObject *value, Py_ssize_t longest) {
        if (!PyUnicode_CheckExact(key) || !PyUnicode_GET_LENGTH(key)) return 0;
        if (PyUnicode_CheckExact(value)) return PyUnicode_GET_LENGTH(value) <= longest;
        return PyLong_CheckExact(value) || PyBool_Check(value) || PyFloat_CheckExact(value);
    }
    static int otel_fastpath_is_plain(PyObject *attributes, Py_ssize_t longest) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Next(attributes, &at, &key, &value)) {
            if (!otel_fastpath_is_plain_item(key, value, longest)) return 0;
        }
        return 1;
    }
    /* Put the value last, also where the key was there. 0 where that would be one more than there may be. */
    static int otel_fastpath_put(PyObject *store, PyObject *key, PyObject *value, Py_ssize_t most) {
        Py_ssize_t size = PyDict_GET_SIZE(store);
        if (size < most) {
            if (size < 2) return PyDict_SetItem(store, key, value) ? -1 : 1;
            if (PyDict_SetDefault(store, key, value) == NULL) return -1;
            if (PyDict_GET_SIZE(store) > size) return 1;
        } else {
            int found = PyDict_Contains(store, key);
            if (found < 1) return found;
        }
        return PyDict_DelItem(store, key) || PyDict_SetItem(store, key, value) ? -1 : 1;
    }
    /* Put what is plain. 0 where it is not, and where anything goes wrong: upstream's code meets it then. */
    static int otel_fastpath_put_plain(
        PyObject *store, PyObject *key, PyObject *value, Py_ssize_t longest, Py_ssize_t most
    ) {
        if (!otel_fastpath_is_plain_item(key, value, longest)) return 0;
        int done = otel_fastpath_put(store, key, value, most);
        if (done < 0) PyErr_Clear();
        return done > 0;
    }
    /* Whether every key of one is a key of the other. */
    static int otel_fastpath_covers(PyObject *other, PyObject *one) {
        Py_ssize_t at = 0;
        PyObject *key, *value;
        if (PyDict_Size(one) > PyDict_Size(other)) return 0;
        while (PyDict_Next(one, &at, &key, &value)) {
            int found = PyDict_Contains(other, key);
            if (found < 1) return found;
        }
        return 1;
    }
    /* The keys and values of a dict, and before a value that is no text its type; None if there are other values. */
    static PyObject *otel_fastpath_attribute_key(PyObject *attributes) {
        PyObject *parts[96], *key, *value, *made;
        Py_ssize_t at = 0, size = 0;
        if (PyDict_GET_SIZE(attributes) > 32) Py_RETURN_NONE;
        while (PyDict_Next(attributes, &at, &key, &value)) {
            if (!PyUnicode_CheckExact(key)) Py_RETURN_NONE;
            parts[size++] = key;
            if (!PyUnicode_CheckExact(value)) {
                if (!PyLong_CheckExact(value) && !PyFloat_CheckExact(value) && !PyBool_Check(value)) Py_RETURN_NONE;
                parts[size++] = (PyObject *)Py_TYPE(value);
            }
            parts[size++] = value;
        }
        made = PyTuple_New(size);
        if (made == NULL) return NULL;
        for (at = 0; at < size; at++) PyTuple_SET_ITEM(made, at, Py_NewRef(parts[at]));
        return made;
    }
    /* Whether it is an int or a float that upstream takes without a word: finite, and not below zero unless signed. */
    static int otel_fastpath_is_amount(PyObject *amount, int is_signed) {
        double number;
        if (PyFloat_CheckExact(amount)) {
            number = PyFloat_AS_DOUBLE(amount);
        } else if (PyLong_CheckExact(amount)) {
            int overflow;
            number = (double)PyLong_AsLongLongAndOverflow(amount, &overflow);
            if (overflow) return 0;
        } else {
            return 0;
        }
        return number < 9223372036854775808.0 && number >= (is_signed ? -9223372036854775808.0 : 0.0);
    }
    /* How many of the bounds are smaller than the number. */
    static Py_ssize_t otel_fastpath_bisect(PyObject *bounds, double number) {
        const double *all = (const double *)(void *)PyBytes_AS_STRING(bounds);
        Py_ssize_t low = 0, high = PyBytes_GET_SIZE(bounds) / (Py_ssize_t)sizeof(double);
        while (low < high) {
            Py_ssize_t middle = (low + high) / 2;
            if (all[middle] < number) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    /* Whether a lock is free, and nobody can take it before the caller, who calls nothing, is done: the interpreter's own
       lock is held. Without that lock nobody can know. It is asked by its bound method `locked`. */
    static int otel_fastpath_is_alone(PyObject *locked) {
    #ifdef Py_GIL_DISABLED
        return 0;
    #else
        PyObject *given = PyObject_CallNoArgs(locked);
        if (given == NULL) return -1;
        Py_DECREF(given);
        return given == Py_False;
    #endif
    }
    static PyObject *otel_fastpath_new_tuple(PyObject *type, Py_ssize_t size) {
        return ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, size);
    }
    """
    const bint COMPILED "OTEL_FASTPATH_COMPILED"
    int c_getpid "otel_fastpath_getpid"()
    object c_now "otel_fastpath_now"()
    bint c_is_global "otel_fastpath_is_global"(dict globals, object name, object expected) except -1
    object c_new_dict "otel_fastpath_new_dict"(object kind)
    object c_attribute_key "otel_fastpath_attribute_key"(object attributes)
    bint c_is_alone "otel_fastpath_is_alone"(object locked) except -1
    bint c_is_amount "otel_fastpath_is_amount"(object amount, bint is_signed)
    Py_ssize_t c_bisect "otel_fastpath_bisect"(object bounds, double number)
    bint c_is_plain "otel_fastpath_is_plain"(dict attributes, Py_ssize_t longest)
    bint c_put "otel_fastpath_put"(dict store, object key, object value, Py_ssize_t most) except -1
    bint c_put_plain "otel_fastpath_put_plain"(
        dict store, object key, object value, Py_ssize_t longest, Py_ssize_t most
    )
    bint c_covers "otel_fastpath_covers"(dict other, dict one) except -1
    object c_new_instance "otel_fastpath_new_instance"(object kind)
    object c_new_tuple "otel_fastpath_new_tuple"(object kind, Py_ssize_t size)

cdef extern from "Python.h":
    object c_set "PyContextVar_Set"(object variable, object value)
    int PyContextVar_Get(object variable, PyObject *default, PyObject **value) except -1
    int PyDict_SetItem(object mapping, object key, object value) except -1
    dict c_copy "PyDict_Copy"(dict mapping)
    int PyDict_Update(object mapping, PyObject *other) except -1
    PyObject *PyDict_GetItemWithError(PyObject *mapping, object key) except? NULL
    Py_ssize_t PyDict_Size(PyObject *mapping) except -1
    unsigned long long c_low_64_bits "PyLong_AsUnsignedLongLongMask"(object value) except? 0xFFFFFFFFFFFFFFFF
    void Py_XDECREF(PyObject *value)
    void Py_INCREF(object value)
    PyObject *PyTuple_GET_ITEM(object value, Py_ssize_t index)
    void PyTuple_SET_ITEM(object value, Py_ssize_t index, object item)


cdef inline object c_get(object variable):
    """The value of a ContextVar that has a default."""
    cdef PyObject *value = NULL
    PyContextVar_Get(variable, NULL, &value)
    try:
        return <object>value
    finally:
        Py_XDECREF(value)


cdef inline object c_current(object variable, object key):
    """The current context's value for the key, or None."""
    cdef PyObject *context = NULL
    cdef PyObject *value = NULL
    PyContextVar_Get(variable, NULL, &context)
    try:
        if PyDict_Size(context):
            value = PyDict_GetItemWithError(context, key)
        return None if value is NULL else <object>value
    finally:
        Py_XDECREF(context)


cdef inline bint c_has_more(object variable, object key) except -1:
    """Whether the current context has more than a value for the key."""
    cdef PyObject *context = NULL
    cdef Py_ssize_t size
    PyContextVar_Get(variable, NULL, &context)
    try:
        size = PyDict_Size(context)
        return size > 1 or (size == 1 and PyDict_GetItemWithError(context, key) is NULL)
    finally:
        Py_XDECREF(context)


cdef inline object c_value(object context, object key):
    """A context's value for the key, or None."""
    cdef PyObject *value = PyDict_GetItemWithError(<PyObject *>context, key)
    return None if value is NULL else <object>value


cdef inline object c_item(object value, Py_ssize_t index):
    """An item of what is known to be a tuple, of whatever class."""
    return <object>PyTuple_GET_ITEM(value, index)


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
