/* The operation that an exception belongs to: a server span's count, found through a context variable. */
#ifndef OTEL_FASTPATH_EXCMON_OPERATION_H
#define OTEL_FASTPATH_EXCMON_OPERATION_H

#include <Python.h>
#include <structmember.h>

#include "callbacks_tables.h"

static PyObject *operation_variable;    /* ContextVar, or NULL */

typedef struct Operation {
    PyObject_HEAD
    struct Operation *outer;
    unsigned long long count;
    char closed;
} Operation;

static void
operation_dealloc(PyObject *self)
{
    Py_XDECREF(((Operation *)self)->outer);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject Operation_Type;

static PyObject *
operation_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *outer = Py_None;
    if (!PyArg_ParseTuple(args, "|O:Operation", &outer)) {
        return NULL;
    }
    if (outer != Py_None && !Py_IS_TYPE(outer, &Operation_Type)) {
        PyErr_SetString(PyExc_TypeError, "outer must be an Operation or None");
        return NULL;
    }
    Operation *self = (Operation *)type->tp_alloc(type, 0);
    if (self != NULL && outer != Py_None) {
        self->outer = (Operation *)Py_NewRef(outer);
    }
    return (PyObject *)self;
}

static PyMemberDef operation_members[] = {
    {"count", T_ULONGLONG, offsetof(Operation, count), READONLY, NULL},
    {"outer", T_OBJECT, offsetof(Operation, outer), READONLY, NULL},
    {"closed", T_BOOL, offsetof(Operation, closed), 0, NULL},
    {NULL},
};

static PyTypeObject Operation_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "otel_fastpath.exceptions.callbacks_c.Operation",
    .tp_doc = "Counts the exceptions raised while it is the current operation, or the outer one of it.",
    .tp_basicsize = sizeof(Operation),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = operation_new,
    .tp_dealloc = operation_dealloc,
    .tp_members = operation_members,
};

static void
count_in_operation(void)
{
    PyObject *current = NULL;
    TABLES_LOCK();
    PyObject *variable = Py_XNewRef(operation_variable);
    TABLES_UNLOCK();
    if (variable == NULL || PyContextVar_Get(variable, NULL, &current) < 0) {
        PyErr_Clear();
    }
    Py_XDECREF(variable);
    if (current != NULL && Py_IS_TYPE(current, &Operation_Type)) {
        for (Operation *each = (Operation *)current; each != NULL; each = each->outer) {
            ADD_ONE(each->count);
        }
    }
    Py_XDECREF(current);
}

#endif
