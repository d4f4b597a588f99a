/* Exception counters: the sys.monitoring callbacks of otel_fastpath.exceptions.
 *
 * RAISE fires once per frame that an exception passes, so each exception object is marked when it is first counted.
 * The mark is kept where no Python code can see it, keep it alive or copy it: in the seven bytes of padding behind
 * `suppress_context`, the last field that all exceptions share. A type whose padding may not be its own is told apart
 * by its traceback instead, see is_first_by_traceback.
 *
 * No callback may leave an error set: it would replace the user's exception. All of this runs under the GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "callbacks_code.h"
#include "callbacks_operation.h"
#include "callbacks_tables.h"

#ifdef Py_GIL_DISABLED
#error "the counters rely on the GIL"
#endif

/* ------------------------------------------------------------------ the callbacks */

static void
first_seen(PyObject *code, PyObject *offset, PyObject *exception)
{
    PyTracebackObject *traceback = (PyTracebackObject *)((PyBaseExceptionObject *)exception)->traceback;
    if (traceback == NULL) {
        /* a StopIteration that a C iterator ends a loop or an await with */
        return;
    }
    Entry entry = entry_of(Py_TYPE(exception));
    if (entry.flags & SKIPPED || !counts_in(code)) {
        return;
    }
    if (entry.flags & ENDS_ITERATION && !is_frame_of(traceback, code)) {
        /* raised by __next__ and seen once more where the loop ends */
        return;
    }
    Tail *tail = tail_of(exception);
    if (entry.flags & MARKABLE && is_free(tail)) {
        tail->caught = 0;
        tail->row = entry.row;
        tail->mark = current_mark;
    }
    else if (!is_first_by_traceback(traceback, code, exception)) {
        return;
    }
    rows[entry.row].raised++;
    if (with_sites && PyCode_Check(code) && PyLong_Check(offset)) {
        count_site(code, offset, entry.row);
    }
    if (operation_variable != NULL) {
        count_in_operation();
    }
}

static inline void
in_flight(PyObject *exception)
{
    Tail *tail = tail_of(exception);
    if (tail->caught) {
        tail->caught = 0;
        rows[tail->row].handled--;
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
        rows[tail->row].handled += !tail->caught;
        tail->caught = 1;
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

/* ------------------------------------------------------------------ the module's functions */

static int
set_filters(PyObject *pairs)
{
    Py_ssize_t count = PyTuple_GET_SIZE(pairs);
    Filter *made = count == 0 ? NULL : PyMem_RawCalloc((size_t)count, sizeof(Filter));
    if (count != 0 && made == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *prefix;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "Up", &prefix, &made[i].counted)
            || (made[i].prefix = PyUnicode_AsUTF8AndSize(prefix, &made[i].length)) == NULL || made[i].length == 0) {
            PyMem_RawFree(made);
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "a prefix is empty");
            }
            return -1;
        }
    }
    PyMem_RawFree(filters);
    filters = made;
    filter_count = count;
    Py_XSETREF(filter_owner, Py_NewRef(pairs));
    return 0;
}

static int
set_limit(unsigned limit)
{
    if (limit < row_count - 1) {
        limit = row_count - 1;
    }
    unsigned kept = rows == NULL ? 0 : row_count;
    Row *grown = PyMem_RawRealloc(rows, (limit + 1) * sizeof(Row));
    if (grown == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    rows = grown;
    memset(rows + kept, 0, (limit + 1 - kept) * sizeof(Row));
    row_limit = limit;
    return 0;
}

PyDoc_STRVAR(configure_doc,
"configure(limit, skip, filters, counted_by_default, by_site, marks)\n\nBefore the callbacks are registered.");

static PyObject *
configure(PyObject *module, PyObject *args)
{
    unsigned limit;
    PyObject *names, *pairs;
    int counted, by_site, marks;
    if (!PyArg_ParseTuple(args, "IO!O!ppp:configure", &limit, &PyFrozenSet_Type, &names, &PyTuple_Type, &pairs,
                          &counted, &by_site, &marks)) {
        return NULL;
    }
    if (limit > UINT16_MAX) {
        return PyErr_Format(PyExc_ValueError, "limit %u is more than %d", limit, UINT16_MAX);
    }
    if (by_site && sites == NULL && renew_sites() < 0) {
        return PyErr_NoMemory();
    }
    if (set_filters(pairs) < 0 || set_limit(limit) < 0) {
        return NULL;
    }
    counted_by_default = counted;
    with_sites = by_site;
    use_marks = marks;
    Py_XSETREF(skip, Py_NewRef(names));
    if (renew_types() < 0) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(watch_doc, "watch(variable)\n\nCount in the Operation that this ContextVar holds; None: in none.");

static PyObject *
watch(PyObject *module, PyObject *variable)
{
    if (variable != Py_None && !PyContextVar_CheckExact(variable)) {
        PyErr_SetString(PyExc_TypeError, "expected a ContextVar or None");
        return NULL;
    }
    Py_XSETREF(operation_variable, variable == Py_None ? NULL : Py_NewRef(variable));
    Py_RETURN_NONE;
}

PyDoc_STRVAR(counts_doc, "counts()\n\n(name, raised, handled, markable) per type name; the name of the rest is None.");

static PyObject *
counts(PyObject *module, PyObject *unused)
{
    PyObject *result = PyList_New(0);
    for (unsigned i = 0; result != NULL && i < row_count && rows != NULL; i++) {
        PyObject *name = rows[i].name == NULL ? Py_None : rows[i].name;
        PyObject *item = Py_BuildValue("OKLO", name, (unsigned long long)rows[i].raised,
                                       (long long)rows[i].handled, rows[i].unmarked ? Py_False : Py_True);
        if (item == NULL || PyList_Append(result, item) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(item);
    }
    return result;
}

PyDoc_STRVAR(sites_doc, "site_counts()\n\n(name, code, instruction offset, raised) per raise site.");

static PyObject *
site_counts(PyObject *module, PyObject *unused)
{
    PyObject *result = PyList_New(0);
    for (unsigned i = 0; result != NULL && i < SITE_SLOTS && sites != NULL; i++) {
        if (sites[i].code == NULL) {
            continue;
        }
        PyObject *name = rows[sites[i].row].name == NULL ? Py_None : rows[sites[i].row].name;
        PyObject *item = Py_BuildValue("OOiK", name, sites[i].code, sites[i].offset,
                                       (unsigned long long)sites[i].count);
        if (item == NULL || PyList_Append(result, item) < 0) {
            Py_CLEAR(result);
        }
        Py_XDECREF(item);
    }
    return result;
}

PyDoc_STRVAR(reset_doc, "reset()\n\nAll counts are zero, and exceptions counted so far are new again.");

static PyObject *
reset(PyObject *module, PyObject *unused)
{
    for (unsigned i = 0; i < row_count && rows != NULL; i++) {
        rows[i].raised = 0;
        rows[i].handled = 0;
    }
    current_mark = MAGIC | ((current_mark + 1) & 0xFFFFu);
    if (sites != NULL && renew_sites() < 0) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

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

static int
execute(PyObject *module)
{
    PyObject *builtins = PyImport_ImportModule("builtins");
    if (builtins == NULL || PyType_Ready(&Callback_Type) < 0) {
        Py_XDECREF(builtins);
        return -1;
    }
    Py_XSETREF(builtin_names, Py_NewRef(PyModule_GetDict(builtins)));
    Py_DECREF(builtins);
    if (row_of_name == NULL && (row_of_name = PyDict_New()) == NULL) {
        return -1;
    }
    if (rows == NULL && set_limit(0) < 0) {
        return -1;
    }
    if (types == NULL && renew_types() < 0) {
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
