/* The layer over a hook, in C: it passes calls on without touching their arguments, and counts them.
 *
 * A call costs a few nanoseconds more. The Python layer in `layer.py` copies the arguments into a tuple and a dict, which
 * takes longer than some hooks.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *function; /* the hook */
    PyObject *timed;    /* called with the arguments as a tuple and a dict, for the call that is timed */
    PyObject *dict;
    vectorcallfunc vectorcall;
    Py_ssize_t left; /* calls until one is timed, that one included */
    char inert;      /* whether calls are neither counted nor timed */
} Layer;

static PyObject *
time_call(Layer *self, PyObject *const *args, Py_ssize_t number, PyObject *names)
{
    PyObject *result = NULL;
    PyObject *positional = PyTuple_New(number), *keywords = PyDict_New();
    if (positional == NULL || keywords == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(positional, i, args[i]);
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyDict_SetItem(keywords, PyTuple_GET_ITEM(names, i), args[number + i]) < 0) {
            goto done;
        }
    }
    result = PyObject_CallFunctionObjArgs(self->timed, positional, keywords, NULL);
done:
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return result;
}

static PyObject *
call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Layer *self = (Layer *)object;
    if (self->inert || --self->left > 0) {
        return PyObject_Vectorcall(self->function, args, flags, names);
    }
    return time_call(self, args, PyVectorcall_NARGS(flags), names);
}

static PyObject *
layer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *function, *timed;
    Py_ssize_t left;
    static char *names[] = {"function", "timed", "left", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOn", names, &function, &timed, &left)) {
        return NULL;
    }
    Layer *self = (Layer *)type->tp_alloc(type, 0);
    if (self != NULL) {
        Py_INCREF(function);
        Py_INCREF(timed);
        self->function = function;
        self->timed = timed;
        self->vectorcall = call;
        self->left = left;
    }
    return (PyObject *)self;
}

static int
layer_traverse(Layer *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->timed);
    Py_VISIT(self->dict);
    return 0;
}

static int
layer_clear(Layer *self)
{
    /* not the function and its timed form: a call may need them until the very end */
    Py_CLEAR(self->dict);
    return 0;
}

static void
layer_dealloc(Layer *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->timed);
    Py_CLEAR(self->function);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* As a function that is found on an object: bound to it. */
static PyObject *
layer_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, object);
}

/* What the layer does not have is the hook's: its code and defaults, by which `inspect` knows its kind and signature. */
static PyObject *
layer_getattro(PyObject *self, PyObject *name)
{
    PyObject *found = PyObject_GenericGetAttr(self, name);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        found = PyObject_GetAttr(((Layer *)self)->function, name);
    }
    return found;
}

static PyMemberDef layer_members[] = {
    {"left", T_PYSSIZET, offsetof(Layer, left), 0, "How many calls are left until one is timed, that one included."},
    {"inert", T_BOOL, offsetof(Layer, inert), 0, "Whether calls are neither counted nor timed."},
    {NULL},
};

static PyGetSetDef layer_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL},
};

static PyTypeObject Layer_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "otel_fastpath.shedding.layer_c.Layer",
    .tp_basicsize = sizeof(Layer),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = layer_new,
    .tp_dealloc = (destructor)layer_dealloc,
    .tp_traverse = (traverseproc)layer_traverse,
    .tp_clear = (inquiry)layer_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Layer, vectorcall),
    .tp_dictoffset = offsetof(Layer, dict),
    .tp_descr_get = layer_get,
    .tp_getattro = layer_getattro,
    .tp_members = layer_members,
    .tp_getset = layer_getset,
};

static int
execute(PyObject *module)
{
    Py_INCREF(&Layer_Type);
    return PyType_Ready(&Layer_Type) < 0 || PyModule_AddObject(module, "Layer", (PyObject *)&Layer_Type) < 0 ? -1 : 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "layer_c", .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_layer_c(void)
{
    return PyModuleDef_Init(&definition);
}
