/* What callbacks_c.c keeps: the mark in an exception, a row of counts per type name, and a cache from type to row.
 *
 * Nothing here leaves an error set or calls Python code between reading a table and writing to it. Without the
 * interpreter lock, TABLES_LOCK is held meanwhile; what is dropped from a table is released after TABLES_UNLOCK, because
 * that may run Python code, which may raise.
 */
#ifndef OTEL_FASTPATH_EXCMON_TABLES_H
#define OTEL_FASTPATH_EXCMON_TABLES_H

#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#if defined(Py_GIL_DISABLED) && !defined(_WIN32)
#include <pthread.h>
#define FREE_TABLES_AFTER_FORK() pthread_atfork(NULL, NULL, free_tables)
#else
#define FREE_TABLES_AFTER_FORK()
#endif

#ifdef Py_GIL_DISABLED
static PyMutex tables_mutex;
#define TABLES_LOCK() PyMutex_Lock(&tables_mutex)
#define TABLES_UNLOCK() PyMutex_Unlock(&tables_mutex)
/* A child process has none of the threads that may have held the lock when it was forked. */
static inline void
free_tables(void)
{
    memset(&tables_mutex, 0, sizeof(tables_mutex));
}
#else
#define TABLES_LOCK()
#define TABLES_UNLOCK()
#endif
#if defined(Py_GIL_DISABLED) && !defined(_MSC_VER)
#define READ(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define WRITE(field, value) __atomic_store_n(&(field), value, __ATOMIC_RELEASE)
#define ADD_ONE(field) __atomic_add_fetch(&(field), 1, __ATOMIC_RELAXED)
#elif defined(Py_GIL_DISABLED)
#include <intrin.h>
#define READ(field) (field)
#define WRITE(field, value) ((field) = (value))
#define ADD_ONE(field) _InterlockedIncrement64((volatile long long *)&(field))
#else
#define READ(field) (field)
#define WRITE(field, value) ((field) = (value))
#define ADD_ONE(field) (++(field))
#endif

/* ------------------------------------------------------------------ the mark in an exception */

/* Lies over an exception's last shared bytes, from suppress_context on. */
typedef struct {
    char suppress_context;
    uint8_t caught;             /* the last event of this exception was EXCEPTION_HANDLED */
    uint16_t row;
    uint32_t mark;
} Tail;

#define TAIL_OFFSET offsetof(PyBaseExceptionObject, suppress_context)
#define MAGIC 0x0F5A0000u       /* or'ed with the generation */

/* Where pointers have four bytes there is no room. */
#define HAS_ROOM (TAIL_OFFSET % 4 == 0 && sizeof(PyBaseExceptionObject) >= TAIL_OFFSET + sizeof(Tail))

static uint32_t current_mark = MAGIC | 1;

static inline Tail *
tail_of(PyObject *exception)
{
    return (Tail *)((char *)exception + TAIL_OFFSET);
}

static inline int
is_marked(PyObject *exception)
{
    return HAS_ROOM && READ(tail_of(exception)->mark) == READ(current_mark);
}

/* Whether the padding is untouched, or was last touched by an earlier generation of ours. */
static inline int
is_free(const Tail *tail)
{
    uint32_t mark = READ(tail->mark);
    return (mark & 0xFFFF0000u) == MAGIC || (mark == 0 && READ(tail->row) == 0 && READ(tail->caught) == 0);
}

/* Says whether the exception is now in an except block; returns what was said before. Threads may share it. */
static inline uint8_t
set_caught(Tail *tail, uint8_t caught)
{
#if defined(Py_GIL_DISABLED) && !defined(_MSC_VER)
    return __atomic_exchange_n(&tail->caught, caught, __ATOMIC_ACQ_REL);
#elif defined(Py_GIL_DISABLED)
    return (uint8_t)_InterlockedExchange8((volatile char *)&tail->caught, (char)caught);
#else
    uint8_t before = tail->caught;
    tail->caught = caught;
    return before;
#endif
}

/* Marks an exception that is_free. False: another thread was first. */
static inline int
set_mark(PyObject *exception, uint16_t row)
{
    Tail *tail = tail_of(exception);
    TABLES_LOCK();
    int is_first = !is_marked(exception);
    if (is_first) {
        WRITE(tail->caught, 0);
        WRITE(tail->row, row);
        WRITE(tail->mark, READ(current_mark));
    }
    TABLES_UNLOCK();
    return is_first;
}

/* ------------------------------------------------------------------ rows and types */

typedef struct { PyObject *name; uint64_t raised; int64_t handled; int unmarked; } Row;
typedef struct { PyTypeObject *type; uint16_t row; uint8_t flags; } Entry;

enum { SKIPPED = 1, MARKABLE = 2, ENDS_ITERATION = 4 };
/* As in exceptions.settings: a type with a longer name counts among the rest, and is not held on to. */
enum { LONGEST_NAME = 255 };
enum { OTHER_ROW = 0, TYPE_BITS = 11, TYPE_SLOTS = 1 << TYPE_BITS };

static Row *rows;               /* rows[OTHER_ROW] is everything beyond the limit */
static unsigned row_count = 1, row_limit;
static PyObject *row_of_name;   /* dict: name -> index */
static Entry *types;            /* a cache: types that share a name share a row, so it can be emptied */
static Entry *types_dropped;    /* emptied by the thread that holds the lock, to be released after it */
static unsigned type_count;
static PyObject *skip;          /* frozenset of names */
static PyObject *builtin_names;         /* the namespace of the module builtins */
static int use_marks = 1;

static inline size_t
hash_of(const void *pointer, unsigned bits)
{
    return (size_t)((uint64_t)((uintptr_t)pointer >> 4) * 0x9E3779B97F4A7C15ull >> (64 - bits));
}

/* ------------------------------------------------------------------ a type's first exception */

/* As `error.type` has it: module and qualified name, bare for builtins. Runs no Python code. NULL: no error is set. */
static PyObject *
name_of(PyTypeObject *type)
{
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        return PyUnicode_FromString(type->tp_name);
    }
    PyObject *name = PyType_GetQualName(type);
    PyObject *namespace = PyType_GetDict(type);
    PyObject *module = NULL;
    if (namespace != NULL) {
#ifdef Py_GIL_DISABLED
        PyDict_GetItemStringRef(namespace, "__module__", &module);
#else
        module = Py_XNewRef(PyDict_GetItemString(namespace, "__module__"));
#endif
    }
    if (name != NULL && module != NULL && PyUnicode_Check(module)
        && PyUnicode_CompareWithASCIIString(module, "builtins") != 0) {
        Py_SETREF(name, PyUnicode_FromFormat("%U.%U", module, name));
    }
    Py_XDECREF(module);
    Py_XDECREF(namespace);
    return name;
}

static int
is_skipped(PyTypeObject *type)
{
    PyObject *bases = type->tp_mro;
    if (bases == NULL || skip == NULL) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); i++) {
        PyObject *base = PyTuple_GET_ITEM(bases, i);
        PyObject *name = PyType_Check(base) ? name_of((PyTypeObject *)base) : NULL;
        int found = name != NULL && PySet_Contains(skip, name) == 1;
        Py_XDECREF(name);
        if (found) {
            return 1;
        }
    }
    return 0;
}

/* Whether the padding of its instances is nobody else's: the type adds nothing in C to one of the interpreter's own.
 * Exactly MemoryError is left out: its instances are used again without being cleared. */
static int
is_markable(PyTypeObject *type)
{
    if (!HAS_ROOM || !use_marks || (PyObject *)type == PyExc_MemoryError) {
        return 0;
    }
    while (type != NULL && type->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        type = type->tp_base;
    }
    return type != NULL && PyDict_GetItemString(builtin_names, type->tp_name) == (PyObject *)type;
}

static uint16_t
row_named(PyObject *name)
{
    PyObject *known = PyDict_GetItemWithError(row_of_name, name);
    if (known != NULL) {
        return (uint16_t)PyLong_AsLong(known);
    }
    if (row_count > row_limit) {
        return OTHER_ROW;
    }
    PyObject *index = PyLong_FromLong(row_count);
    int failed = index == NULL || PyDict_SetItem(row_of_name, name, index) < 0;
    Py_XDECREF(index);
    if (failed) {
        return OTHER_ROW;
    }
    rows[row_count].name = Py_NewRef(name);
    return (uint16_t)row_count++;
}

/* Empties the cache; `release_types` is called later. Dropping a type can run Python code. */
static int
renew_types(void)
{
    Entry *fresh = PyMem_RawCalloc(TYPE_SLOTS, sizeof(Entry));
    if (fresh == NULL) {
        return -1;
    }
    types_dropped = types;
    types = fresh;
    type_count = 0;
    return 0;
}

static void
release_types(Entry *old)
{
    for (int i = 0; old != NULL && i < TYPE_SLOTS; i++) {
        Py_XDECREF(old[i].type);
    }
    PyMem_RawFree(old);
}

static Entry
learn_type(PyTypeObject *type)
{
    Entry entry = {type, OTHER_ROW, 0};
    PyObject *name = name_of(type);
    int is_long = name != NULL && PyUnicode_GET_LENGTH(name) > LONGEST_NAME;
    if (is_skipped(type)) {
        entry.flags = SKIPPED;
    }
    else {
        entry.flags = (is_markable(type) ? MARKABLE : 0)
            | (PyType_IsSubtype(type, (PyTypeObject *)PyExc_StopIteration) ? ENDS_ITERATION : 0);
        entry.row = name == NULL || is_long ? OTHER_ROW : row_named(name);
        rows[entry.row].unmarked |= entry.row != OTHER_ROW && !(entry.flags & MARKABLE);
    }
    Py_XDECREF(name);
    PyErr_Clear();
    if (is_long || (type_count >= TYPE_SLOTS / 2 && renew_types() < 0)) {
        return entry;
    }
    size_t slot = hash_of(type, TYPE_BITS);
    while (types[slot].type != NULL) {
        slot = (slot + 1) % TYPE_SLOTS;
    }
    Py_INCREF(type);
    types[slot] = entry;
    type_count++;
    return entry;
}

static inline Entry
entry_found(PyTypeObject *type)
{
    size_t slot = hash_of(type, TYPE_BITS);
    while (types[slot].type != type) {
        if (types[slot].type == NULL) {
            return learn_type(type);
        }
        slot = (slot + 1) % TYPE_SLOTS;
    }
    return types[slot];
}

static inline Entry
entry_of(PyTypeObject *type)
{
    TABLES_LOCK();
    Entry entry = entry_found(type), *dropped = types_dropped;
    types_dropped = NULL;
    TABLES_UNLOCK();
    if (dropped != NULL) {
        release_types(dropped);
    }
    return entry;
}

#endif
