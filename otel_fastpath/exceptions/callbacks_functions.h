/* What Python code calls: sets the counters up, reads and resets them. */
#ifndef OTEL_FASTPATH_EXCMON_FUNCTIONS_H
#define OTEL_FASTPATH_EXCMON_FUNCTIONS_H

#include "callbacks_operation.h"
#include "callbacks_tables.h"

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
    PyObject *owner = filter_owner;
    TABLES_LOCK();
    PyMem_RawFree(filters);
    WRITE(filters, made);
    filter_count = count;
    filter_owner = Py_NewRef(pairs);
    TABLES_UNLOCK();
    Py_XDECREF(owner);
    return 0;
}

static int
set_limit_now(unsigned limit)
{
    if (limit < row_count - 1) {
        limit = row_count - 1;
    }
    unsigned kept = rows == NULL ? 0 : row_count;
    Row *grown = PyMem_RawRealloc(rows, (limit + 1) * sizeof(Row));
    if (grown == NULL) {
        return -1;
    }
    rows = grown;
    memset(rows + kept, 0, (limit + 1 - kept) * sizeof(Row));
    row_limit = limit;
    return 0;
}

static int
set_limit(unsigned limit)
{
    TABLES_LOCK();
    int result = set_limit_now(limit);
    TABLES_UNLOCK();
    if (result < 0) {
        PyErr_NoMemory();
    }
    return result;
}

/* Empties the tables that are asked for. */
static int
renew(int with_types, int with_the_sites)
{
    TABLES_LOCK();
    int result = with_types ? renew_types() : 0;
    if (with_the_sites && renew_sites() < 0) {
        result = -1;
    }
    Entry *old_types = types_dropped;
    Site *old_sites = sites_dropped;
    types_dropped = NULL;
    sites_dropped = NULL;
    TABLES_UNLOCK();
    release_types(old_types);
    release_sites(old_sites);
    return result;
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
    if (by_site && sites == NULL && renew(0, 1) < 0) {
        return PyErr_NoMemory();
    }
    if (set_filters(pairs) < 0 || set_limit(limit) < 0) {
        return NULL;
    }
    PyObject *old = skip;
    TABLES_LOCK();
    counted_by_default = counted;
    with_sites = by_site;
    use_marks = marks;
    skip = Py_NewRef(names);
    TABLES_UNLOCK();
    Py_XDECREF(old);
    if (renew(1, 0) < 0) {
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
    PyObject *old = operation_variable;
    TABLES_LOCK();
    WRITE(operation_variable, variable == Py_None ? NULL : Py_NewRef(variable));
    TABLES_UNLOCK();
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(counts_doc, "counts()\n\n(name, raised, handled, markable) per type name; the name of the rest is None.");

static PyObject *
counts(PyObject *module, PyObject *unused)
{
    PyObject *result = PyList_New(0);
    for (unsigned i = 0; result != NULL; i++) {
        Row row;
        TABLES_LOCK();
        int is_behind = i >= row_count || rows == NULL;
        if (!is_behind) {
            row = rows[i];
        }
        TABLES_UNLOCK();
        if (is_behind) {
            break;
        }
        /* A row keeps its name. */
        PyObject *item = Py_BuildValue("OKLO", row.name == NULL ? Py_None : row.name, (unsigned long long)row.raised,
                                       (long long)row.handled, row.unmarked ? Py_False : Py_True);
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
    for (unsigned i = 0; result != NULL && i < SITE_SLOTS; i++) {
        Site site = {NULL};
        PyObject *name = NULL;
        TABLES_LOCK();
        if (sites != NULL && sites[i].code != NULL) {
            site = sites[i];
            Py_INCREF(site.code);
            name = rows[site.row].name;
        }
        TABLES_UNLOCK();
        if (site.code == NULL) {
            continue;
        }
        PyObject *item = Py_BuildValue("ONiK", name == NULL ? Py_None : name, site.code, site.offset,
                                       (unsigned long long)site.count);
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
    TABLES_LOCK();
    for (unsigned i = 0; i < row_count && rows != NULL; i++) {
        rows[i].raised = 0;
        rows[i].handled = 0;
    }
    WRITE(current_mark, MAGIC | ((current_mark + 1) & 0xFFFFu));
    int has_sites = sites != NULL;
    TABLES_UNLOCK();
    if (has_sites && renew(0, 1) < 0) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

#endif
