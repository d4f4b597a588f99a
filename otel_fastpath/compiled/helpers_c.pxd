# The C forms of helpers.py.
from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <time.h>
    #ifdef _WIN32
    #include <process.h>
    #define otel_fastpath_process_id _getpid
    #else
    #include <unistd.h>
    #define otel_fastpath_process_id getpid
    #endif
    static PyObject *otel_fastpath_item(PyObject *value, Py_ssize_t index) {
        return Py_NewRef(PyTuple_GET_ITEM(value, index));
    }
    /* `time.time_ns` is read without a call. */
    static PyObject *otel_fastpath_read_clock(PyObject *module) {
        static PyObject *name = NULL, *standard = NULL;
        PyObject *clock;
        struct timespec now;
        if (standard == NULL) {
            PyObject *time = PyImport_ImportModule("time");
            name = PyUnicode_InternFromString("time_ns");
            standard = time == NULL || name == NULL ? NULL : PyObject_GetAttr(time, name);
            Py_XDECREF(time);
            if (standard == NULL) return NULL;
        }
        clock = PyDict_GetItemWithError(module, name);
        if (clock == standard) {
            timespec_get(&now, TIME_UTC);
            return PyLong_FromLongLong((long long)now.tv_sec * 1000000000LL + now.tv_nsec);
        }
        if (clock == NULL) {
            if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
            return NULL;
        }
        Py_INCREF(clock);
        PyObject *read = PyObject_CallNoArgs(clock);
        Py_DECREF(clock);
        return read;
    }
    static PyObject *otel_fastpath_new_instance(PyObject *type) {
        PyObject *none = PyTuple_New(0);
        PyObject *made = none == NULL ? NULL : ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, none, NULL);
        Py_XDECREF(none);
        return made;
    }
    static PyObject *otel_fastpath_get_value(PyObject *variable) {
        PyObject *value = NULL;
        if (!PyContextVar_Get(variable, NULL, &value) && value == NULL) PyErr_SetObject(PyExc_LookupError, variable);
        return value;
    }
    static PyObject *otel_fastpath_current_value(PyObject *variable, PyObject *key) {
        PyObject *mapping = NULL, *value = NULL;
        if (PyContextVar_Get(variable, NULL, &mapping)) return NULL;
        if (mapping != NULL && PyDict_Size(mapping)) value = PyDict_GetItemWithError(mapping, key);
        if (value == NULL && !PyErr_Occurred()) value = Py_None;
        Py_XINCREF(value);
        Py_XDECREF(mapping);
        return value;
    }
    static PyObject *otel_fastpath_with_value(PyObject *type, PyObject *mapping, PyObject *key, PyObject *value) {
        PyObject *made = PyDict_Type.tp_new((PyTypeObject *)type, NULL, NULL);
        Py_ssize_t size = mapping == Py_None ? 0 : PyDict_Size(mapping);
        int has_key = 0;
        /* Most contexts are empty, or hold a span and nothing else. */
        if (size == 1) has_key = PyDict_Contains(mapping, key);
        if (made == NULL || size < 0 || has_key < 0 || (size > has_key && PyDict_Update(made, mapping))
            || PyDict_SetItem(made, key, value)) Py_CLEAR(made);
        return made;
    }
    static PyObject *otel_fastpath_set_with_value(PyObject *variable, PyObject *type, PyObject *key, PyObject *value) {
        PyObject *mapping = NULL, *made, *token;
        if (PyContextVar_Get(variable, NULL, &mapping)) return NULL;
        made = otel_fastpath_with_value(type, mapping, key, value);
        token = made == NULL ? NULL : PyContextVar_Set(variable, made);
        Py_XDECREF(made);
        Py_XDECREF(mapping);
        return token;
    }
    static PyObject *otel_fastpath_plain_copy(PyObject *attributes, Py_ssize_t longest) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(attributes, &at, &key, &value)) {
            if (!PyUnicode_CheckExact(key) || !PyUnicode_GET_LENGTH(key)) Py_RETURN_NONE;
            if (PyUnicode_CheckExact(value)) {
                if (PyUnicode_GET_LENGTH(value) > longest) Py_RETURN_NONE;
            } else if (!PyLong_CheckExact(value) && !PyBool_Check(value) && !PyFloat_CheckExact(value)) {
                Py_RETURN_NONE;
            }
        }
        return PyDict_Copy(attributes);
    }
    static PyObject *otel_fastpath_attribute_key(PyObject *attributes) {
        PyObject *key, *value, *made = PyTuple_New(3 * PyDict_Size(attributes));
        Py_ssize_t at = 0, size = 0;
        while (made != NULL && PyDict_Next(attributes, &at, &key, &value)) {
            PyTuple_SET_ITEM(made, size++, Py_NewRef(key));
            PyTuple_SET_ITEM(made, size++, Py_NewRef((PyObject *)Py_TYPE(value)));
            PyTuple_SET_ITEM(made, size++, Py_NewRef(value));
        }
        return made;
    }
    """
    object get_value "otel_fastpath_get_value"(object variable)
    object set_value "PyContextVar_Set"(object variable, object value)
    int reset_value "PyContextVar_Reset"(object variable, object token) except -1
    int process_id "otel_fastpath_process_id"()
    object item "otel_fastpath_item"(object value, Py_ssize_t index)
    object read_clock "otel_fastpath_read_clock"(dict module)
    object new_instance "otel_fastpath_new_instance"(object kind)
    object current_value "otel_fastpath_current_value"(object variable, object key)
    object with_value "otel_fastpath_with_value"(object kind, object mapping, object key, object value)
    object set_with_value "otel_fastpath_set_with_value"(object variable, object kind, object key, object value)
    object plain_copy "otel_fastpath_plain_copy"(dict attributes, Py_ssize_t longest)
    object attribute_key "otel_fastpath_attribute_key"(dict attributes)
