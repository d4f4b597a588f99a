/* Which code counts, the rule for exceptions that cannot be marked, and the counts per raise site. */
#ifndef OTEL_FASTPATH_EXCMON_CODE_H
#define OTEL_FASTPATH_EXCMON_CODE_H

#include <Python.h>
#include <frameobject.h>

#include "callbacks_tables.h"

typedef struct { const char *prefix; Py_ssize_t length; int counted; } Filter;

static PyObject *filter_owner;  /* the tuple whose strings the filters point into */
static Filter *filters;
static Py_ssize_t filter_count;
static int counted_by_default = 1;

static int
passes_filters_now(PyObject *file_name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(file_name);
    const char *text = PyUnicode_IS_COMPACT_ASCII(file_name) ? PyUnicode_DATA(file_name)
                                                             : PyUnicode_AsUTF8AndSize(file_name, &length);
    if (text == NULL) {
        PyErr_Clear();
        return counted_by_default;
    }
    for (Py_ssize_t i = 0; i < filter_count; i++) {
        Py_ssize_t end = filters[i].length - 1;
        /* The last character first: what differs, differs there as a rule. */
        if (length > end && text[end] == filters[i].prefix[end] && memcmp(text, filters[i].prefix, end) == 0) {
            return filters[i].counted;
        }
    }
    return counted_by_default;
}

static int
passes_filters(PyObject *file_name)
{
    TABLES_LOCK();
    int passes = passes_filters_now(file_name);
    TABLES_UNLOCK();
    return passes;
}

/* Frozen modules (importlib, zipimport, os) are the interpreter's own and treated as if they were written in C: the
 * import statement even takes their frames out of an ImportError's traceback. */
static inline int
counts_in(PyObject *code)
{
    if (!PyCode_Check(code)) {
        return 1;
    }
    PyObject *file_name = ((PyCodeObject *)code)->co_filename;
    if (PyUnicode_IS_COMPACT_ASCII(file_name) && PyUnicode_GET_LENGTH(file_name) > 8
        && memcmp(PyUnicode_DATA(file_name), "<frozen ", 8) == 0) {
        return 0;
    }
    return READ(filters) == NULL || passes_filters(file_name);
}

/* A frame that no interpreter ran, made by PyCode_NewEmpty for a traceback: Cython, mypyc, pyexpat. */
static inline int
is_synthetic(PyCodeObject *code)
{
    return !(code->co_flags & (CO_OPTIMIZED | CO_NEWLOCALS)) && code->co_stacksize == 1
        && PyTuple_GET_SIZE(code->co_names) == 0 && PyTuple_GET_SIZE(code->co_consts) == 0;
}

static inline int
is_frame_of(PyTracebackObject *traceback, PyObject *code)
{
    PyCodeObject *own = PyFrame_GetCode(traceback->tb_frame);
    Py_DECREF(own);
    return (PyObject *)own == code;
}

/* The rule for exceptions that cannot be marked. The interpreter puts the current frame at the head of the traceback
 * before RAISE fires, so a first raise has nothing behind the head but frames that do not count. */
static int
is_first_by_traceback(PyTracebackObject *traceback, PyObject *code, PyObject *exception)
{
    PyObject *handled = PyErr_GetHandledException();
    int borrowed = handled != NULL && handled != exception && traceback->tb_next != NULL
        && (PyObject *)traceback->tb_next == ((PyBaseExceptionObject *)handled)->traceback;
    int first = handled != exception;
    Py_XDECREF(handled);
    if (borrowed) {
        /* with_traceback() of the exception being handled, as SQLAlchemy and Django translate errors */
        return 1;
    }
    for (PyTracebackObject *next = traceback->tb_next; first && next != NULL; next = next->tb_next) {
        PyCodeObject *passed = PyFrame_GetCode(next->tb_frame);
        first = is_synthetic(passed) || !counts_in((PyObject *)passed);
        Py_DECREF(passed);
    }
    return first && is_frame_of(traceback, code);
}

/* ------------------------------------------------------------------ raise sites */

typedef struct { PyObject *code; int offset; uint16_t row; uint64_t count; } Site;
enum { SITE_BITS = 12, SITE_SLOTS = 1 << SITE_BITS };
/* As in exceptions.settings. */
enum { LONGEST_FILE_NAME = 1023 };

static Site *sites;             /* once they are asked for */
static Site *sites_dropped;
static unsigned site_count;
static int with_sites;

/* Empties the table; as with the types, `release_sites` is called later. */
static int
renew_sites(void)
{
    Site *fresh = PyMem_RawCalloc(SITE_SLOTS, sizeof(Site));
    if (fresh == NULL) {
        return -1;
    }
    sites_dropped = sites;
    sites = fresh;
    site_count = 0;
    return 0;
}

static void
release_sites(Site *old)
{
    for (int i = 0; old != NULL && i < SITE_SLOTS; i++) {
        Py_XDECREF(old[i].code);
    }
    PyMem_RawFree(old);
}

static int
has_short_names(PyCodeObject *code)
{
    return PyUnicode_GET_LENGTH(code->co_filename) <= LONGEST_FILE_NAME
        && PyUnicode_GET_LENGTH(code->co_qualname) <= LONGEST_NAME;
}

/* Beyond half of the slots a new site is not kept, nor one with a very long name: its exceptions are those of the type that no site accounts for. */
static void
count_site(PyObject *code, PyObject *offset_object, uint16_t row)
{
    int offset = (int)PyLong_AsLong(offset_object);
    size_t slot = (hash_of(code, SITE_BITS) + (size_t)offset * 31 + row) % SITE_SLOTS;
    while (sites[slot].code != NULL) {
        if (sites[slot].code == code && sites[slot].offset == offset && sites[slot].row == row) {
            sites[slot].count++;
            return;
        }
        slot = (slot + 1) % SITE_SLOTS;
    }
    if (site_count < SITE_SLOTS / 2 && has_short_names((PyCodeObject *)code)) {
        sites[slot] = (Site){Py_NewRef(code), offset, row, 1};
        site_count++;
    }
}

#endif
