# The current context exchanged in C; used by the compiled twin of _scope.py.

cdef extern from *:
    """
    /* Make a context current that is the current one with the span under the key; returns the token. */
    static PyObject *otel_fastpath_attach(PyObject *variable, PyObject *type, PyObject *key, PyObject *span) {
        PyObject *current = NULL, *token = NULL, *context;
        Py_ssize_t size;
        int has_span = 0, failed;
        if (PyContextVar_Get(variable, NULL, &current)) return NULL;
        context = PyDict_Type.tp_new((PyTypeObject *)type, NULL, NULL);
        size = PyDict_Size(current);
        if (size == 1) has_span = PyDict_Contains(current, key);
        failed = context == NULL || size < 0 || has_span < 0;
        /* Most contexts are empty, or hold a span and nothing else. */
        if (!failed && size > has_span) failed = PyDict_Update(context, current);
        if (!failed && !PyDict_SetItem(context, key, span)) {
            token = PyContextVar_Set(variable, context);
        }
        Py_XDECREF(context);
        Py_DECREF(current);
        return token;
    }
    """
    object c_attach "otel_fastpath_attach"(object variable, object kind, object key, object span)
    int c_detach "PyContextVar_Reset"(object variable, object token) except -1
