# The current context exchanged in C; used by the compiled twins of _scope.py and _tracer.py.

cdef extern from *:
    """
    /* A Context is made and freed for every span that becomes current, at 1,000 instructions. These were about to be
       freed, with nobody else holding them: they are given their next span instead. Emptied, they hold none. */
    #define OTEL_FASTPATH_SPARES 8
    static PyObject *otel_fastpath_spares[OTEL_FASTPATH_SPARES];
    static int otel_fastpath_spare;

    /* Whether the reference to it is the only way to the context, and there is nothing to it but one key. */
    static int otel_fastpath_is_done(PyObject *context, PyObject *type) {
    #if PY_VERSION_HEX >= 0x030D0000 && !defined(Py_GIL_DISABLED)
        PyObject **attributes;
        if (Py_REFCNT(context) != 1 || Py_TYPE(context) != (PyTypeObject *)type || PyDict_GET_SIZE(context) != 1) return 0;
        attributes = _PyObject_GetDictPtr(context);
        return attributes != NULL && *attributes == NULL
            && *(PyObject **)((char *)context + Py_TYPE(context)->tp_weaklistoffset) == NULL;
    #else
        return 0; /* to ask for its attributes would make them */
    #endif
    }
    /* Whether there is a span and its context, and nobody else has either. The caller and the context have the span. */
    static int otel_fastpath_is_pair(PyObject *context, PyObject *type, PyObject *key, PyObject *span) {
        Py_ssize_t at = 0, weak = Py_TYPE(span)->tp_weaklistoffset;
        PyObject *found = NULL, *value = NULL, **attributes;
        if (Py_REFCNT(span) != 2 || !otel_fastpath_is_done(context, type)) return 0;
        attributes = _PyObject_GetDictPtr(span);
        return (attributes == NULL || *attributes == NULL) && weak && *(PyObject **)((char *)span + weak) == NULL
            && PyDict_Next(context, &at, &found, &value) && found == key && value == span;
    }
    /* Whether nobody else has the context, which holds no span then. */
    static int otel_fastpath_is_emptied(PyObject *context, PyObject *type, PyObject *key) {
        if (!otel_fastpath_is_done(context, type)) return 0;
        /* This may free the span, and whatever is called then can use the spare contexts. */
        if (PyDict_SetItem(context, key, Py_None)) {
            PyErr_Clear();
            return 0;
        }
        return otel_fastpath_is_done(context, type);
    }
    static void otel_fastpath_put_aside(PyObject *context, PyObject *type, PyObject *key) {
        if (otel_fastpath_is_emptied(context, type, key) && otel_fastpath_spare < OTEL_FASTPATH_SPARES) {
            otel_fastpath_spares[otel_fastpath_spare++] = context;
        } else {
            Py_DECREF(context);
        }
    }
    /* The current context's successor that has the span under the key; the spare one (None: none) if that will do. */
    static PyObject *otel_fastpath_succeeding(
        PyObject *variable, PyObject *type, PyObject *key, PyObject *span, PyObject *spare
    ) {
        PyObject *current = NULL, *context, *found = NULL, *value = NULL;
        Py_ssize_t at = 0;
        int others;
        if (PyContextVar_Get(variable, NULL, &current)) return NULL;
        others = (int)(PyDict_Size(current) > 1);
        if (PyDict_Size(current) == 1 && (others = PyDict_Contains(current, key)) >= 0) others = !others;
        if (others == 0 && spare != Py_None) {
            context = Py_NewRef(spare);
            if (PyDict_Next(context, &at, &found, &value) && found == key && value == span) {
                Py_DECREF(current);
                return context;
            }
        } else if (others == 0 && otel_fastpath_spare) {
            context = otel_fastpath_spares[--otel_fastpath_spare];
        } else {
            context = PyDict_Type.tp_new((PyTypeObject *)type, NULL, NULL);
        }
        if (context != NULL
            && (PyErr_Occurred() || (others && PyDict_Update(context, current)) || PyDict_SetItem(context, key, span))) {
            Py_CLEAR(context);
        }
        Py_DECREF(current);
        return context;
    }
    /* Make it the current context; returns the token. */
    static PyObject *otel_fastpath_attach(PyObject *variable, PyObject *type, PyObject *key, PyObject *span) {
        PyObject *token = NULL, *context = otel_fastpath_succeeding(variable, type, key, span, Py_None);
        if (context != NULL) token = PyContextVar_Set(variable, context);
        Py_XDECREF(context);
        return token;
    }
    /* Whether the variable is what it was before the token. If not, to do it in Python says why. */
    static int otel_fastpath_was_reset(PyObject *variable, PyObject *token) {
        if (!PyContextVar_Reset(variable, token)) return 1;
        PyErr_Clear();
        return 0;
    }
    /* Reset the variable to what was before the token. */
    static int otel_fastpath_detach(PyObject *variable, PyObject *type, PyObject *key, PyObject *token) {
        PyObject *context = NULL;
        int failed;
        if (PyContextVar_Get(variable, NULL, &context)) return -1;
        failed = PyContextVar_Reset(variable, token);
        if (failed) Py_DECREF(context);
        else otel_fastpath_put_aside(context, type, key);
        return failed;
    }
    """
    object c_attach "otel_fastpath_attach"(object variable, object kind, object key, object span)
    object c_succeeding "otel_fastpath_succeeding"(object variable, object kind, object key, object span, object spare)
    bint c_was_reset "otel_fastpath_was_reset"(object variable, object token)
    bint c_is_pair "otel_fastpath_is_pair"(object context, object kind, object key, object span)
    bint c_is_emptied "otel_fastpath_is_emptied"(object context, object kind, object key)
    int c_detach "otel_fastpath_detach"(object variable, object kind, object key, object token) except -1
