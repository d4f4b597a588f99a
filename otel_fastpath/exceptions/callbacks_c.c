/* Exception counters: the sys.monitoring callbacks of otel_fastpath.exceptions.
 *
 * RAISE fires once per frame that an exception passes, so each exception object is marked when it is first counted.
 * The mark is kept where no Python code can see it, keep it alive or copy it: in the seven bytes of padding behind
 * `suppress_context`, the last field that all exceptions share. A type whose padding may not be its own is told apart
 * by its traceback instead, see is_first_by_traceback.
 *
 * No callback may leave an error set: it would replace the user's exception.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "callbacks_code.h"
#include "callbacks_functions.h"
#include "callbacks_operation.h"
#include "callbacks_tables.h"

/* ------------------------------------------------------------------ the callbacks */

static void
first_of(PyObject *code, PyObject *offset, PyObject *exception, PyTracebackObject *traceback)
{
    Entry entry = entry_of(Py_TYPE(exception));
    if (entry.flags & SKIPPED || !counts_in(code)) {
        return;
    }
    if (entry.flags & ENDS_ITERATION && !is_frame_of(traceback, code)) {
        /* raised by __next__ and seen once more where the loop ends */
        return;
    }
    if (entry.flags & MARKABLE && is_free(tail_of(exception))) {
        if (!set_mark(exception, entry.row)) {
            return;
        }
    }
    else if (!is_first_by_traceback(traceback, code, exception)) {
        return;
    }
    TABLES_LOCK();
    rows[entry.row].raised++;
    if (with_sites && PyCode_Check(code) && PyLong_Check(offset)) {
        count_site(code, offset, entry.row);
    }
    TABLES_UNLOCK();
    if (READ(operation_variable) != NULL) {
        count_in_operation();
    }
}

static void
first_seen(PyObject *code, PyObject *offset, PyObject *exception)
{
#ifdef Py_GIL_DISABLED
    PyObject *traceback = PyException_GetTraceback(exception);
#else
    PyObject *traceback = ((PyBaseExceptionObject *)exception)->traceback;
#endif
    /* NULL: a StopIteration that a C iterator ends a loop or an await with */
    if (traceback != NULL) {
        first_of(code, offset, exception, (PyTracebackObject *)traceback);
    }
#ifdef Py_GIL_DISABLED
    Py_XDECREF(traceback);
#endif
}

static inline void
add_handled(uint16_t row, int more)
{
    TABLES_LOCK();
    rows[row].handled += more;
    TABLES_UNLOCK();
}

static inline void
in_flight(PyObject *exception)
{
    Tail *tail = tail_of(exception);
    if (READ(tail->caught) && set_caught(tail, 0)) {
        add_handled(READ(tail->row), -1);
    }
}

#define IS_EVENT(args, flags) (PyVectorcall_NARGS(flags) == 3 && PyExceptionInstance_Check((args)[2]))

static PyObject *
on_raise(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (IS_EVENT(args, flags)) {
        if (is_marked(args[2])) {
            in_flight(args[2]);
        }
        else {
            first_seen(args[0], args[1], args[2]);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
on_reraise(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (IS_EVENT(args, flags) && is_marked(args[2])) {
        in_flight(args[2]);
    }
    Py_RETURN_NONE;
}

/* Fires on entry to every except, finally and with block, so whether an exception was handled shows only in what
 * comes next: if it is raised again, it was not. */
static PyObject *
on_handled(PyObject *self, PyObject *const *args, size_t flags, PyObject *keywords)
{
    if (IS_EVENT(args, flags) && is_marked(args[2])) {
        Tail *tail = tail_of(args[2]);
        if (!set_caught(tail, 1)) {
            add_handled(READ(tail->row), 1);
        }
    }
    Py_RETURN_NONE;
}

/* A type of our own, not builtin functions: those check the recursion limit when called, so that at the limit they
 * would put a RecursionError in the place of the user's exception. It is faster, too. */
typedef struct { PyObject_HEAD vectorcallfunc call; } Callback;

static PyTypeObject Callback_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "otel_fastpath.exceptions.callbacks_c.Callback",
    .tp_basicsize = sizeof(Callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(Callback, call),
    .tp_call = PyVectorcall_Call,
};

/* ------------------------------------------------------------------ the module */

static int
add_callback(PyObject *module, const char *name, vectorcallfunc call)
{
    Callback *callback = PyObject_New(Callback, &Callback_Type);
    if (callback == NULL) {
        return -1;
    }
    callback->call = call;
    int result = PyModule_AddObjectRef(module, name, (PyObject *)callback);
    Py_DECREF(callback);
    return result;
}

/* The tables are the process's. An interpreter that shares the lock of another may load this module, too; those with a
   lock of their own are refused by the slot below. */
static int
is_first_interpreter(void)
{
    static int64_t first = -1;
    int64_t here = PyInterpreterState_GetID(PyInterpreterState_Get());
    if (first < 0) {
        first = here;
    }
    if (first != here) {
        PyErr_SetString(PyExc_ImportError, "this module can only be loaded into one interpreter per process");
    }
    return first == here;
}

static int
execute(PyObject *module)
{
    if (!is_first_interpreter()) {
        return -1;
    }
    PyObject *builtins = PyImport_ImportModule("builtins");
    if (builtins == NULL || PyType_Ready(&Callback_Type) < 0) {
        Py_XDECREF(builtins);
        return -1;
    }
    if (builtin_names == NULL) {
        FREE_TABLES_AFTER_FORK();
    }
    Py_XSETREF(builtin_names, Py_NewRef(PyModule_GetDict(builtins)));
    Py_DECREF(builtins);
    if (row_of_name == NULL && (row_of_name = PyDict_New()) == NULL) {
        return -1;
    }
    if (rows == NULL && set_limit(0) < 0) {
        return -1;
    }
    if (types == NULL && renew(1, 0) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return PyModule_AddType(module, &Operation_Type) < 0 || add_callback(module, "on_raise", on_raise) < 0
        || add_callback(module, "on_reraise", on_reraise) < 0 || add_callback(module, "on_handled", on_handled) < 0
        ? -1 : 0;
}

static PyMethodDef methods[] = {
    {"configure", configure, METH_VARARGS, configure_doc},
    {"watch", watch, METH_O, watch_doc},
    {"counts", counts, METH_NOARGS, counts_doc},
    {"site_counts", site_counts, METH_NOARGS, sites_doc},
    {"reset", reset, METH_NOARGS, reset_doc},
    {NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "callbacks_c", .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC
PyInit_callbacks_c(void)
{
    return PyModuleDef_Init(&definition);
}
