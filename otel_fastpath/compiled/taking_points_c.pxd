# The C forms of taking_points.py.
# Its C functions call some that stand there.
from otel_fastpath.compiled.helpers_c cimport is_free

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define otel_fastpath_take_histogram(state, lock_type, usual, start) Py_NewRef(Py_None)
    #define otel_fastpath_take_sum(state, lock_type, usual, start) Py_NewRef(Py_None)
    #else
    enum {
        TAKE_LOCK, TAKE_LOCKED, TAKE_ATTRIBUTES, TAKE_BEGAN, TAKE_VALUE, TAKE_PREVIOUS_VALUE, TAKE_SUM,
        TAKE_PREVIOUS_SUM, TAKE_MIN, TAKE_PREVIOUS_MIN, TAKE_MAX, TAKE_PREVIOUS_MAX, TAKE_BOUNDARIES,
        POINT_ATTRIBUTES, POINT_START, POINT_TIME, POINT_VALUE, POINT_COUNT, POINT_SUM, POINT_BUCKETS, POINT_BOUNDS,
        POINT_MIN, POINT_MAX, TAKE_NAMES, TAKE_ZERO = TAKE_NAMES, TAKE_MOST, TAKE_LEAST, TAKE_ALL
    };
    /* The names of what is read and written, in the order above, and the values of an aggregation without amounts. */
    static PyObject **otel_fastpath_taking(void) {
        static const char *texts[] = {
            "_lock", "locked", "_attributes", "_start_time_unix_nano", "_value", "_previous_value", "_sum",
            "_previous_sum", "_min", "_previous_min", "_max", "_previous_max", "_boundaries",
            "attributes", "start_time_unix_nano", "time_unix_nano", "value", "count", "sum", "bucket_counts",
            "explicit_bounds", "min", "max"};
        static PyObject *shared_names = NULL;
        PyObject *names = otel_fastpath_load(&shared_names);
        if (names == NULL) {
            int at;
            names = PyTuple_New(TAKE_ALL);
            for (at = 0; names != NULL && at < TAKE_ALL; at++) {
                PyObject *item = at < TAKE_NAMES ? PyUnicode_InternFromString(texts[at])
                    : at == TAKE_ZERO ? PyLong_FromLong(0)
                    : PyFloat_FromDouble(at == TAKE_MOST ? Py_HUGE_VAL : -Py_HUGE_VAL);
                if (item == NULL) Py_CLEAR(names); else PyTuple_SET_ITEM(names, at, item);
            }
            if (names == NULL) return NULL;
            otel_fastpath_store(&shared_names, names);
        }
        return &PyTuple_GET_ITEM(names, 0);
    }
    /* 1 if nobody holds the lock, which stays so until Python code runs; 0 if somebody does, or it is another kind. */
    static int otel_fastpath_is_unheld(PyObject *lock, PyObject *lock_type, PyObject *locked) {
        PyObject *found;
        if (lock == NULL || (PyObject *)Py_TYPE(lock) != lock_type) return PyErr_Occurred() ? -1 : 0;
        found = PyObject_CallMethodNoArgs(lock, locked);
        Py_XDECREF(found);
        return found == NULL ? -1 : found == Py_False;
    }
    static int otel_fastpath_is_list(PyObject *value, Py_ssize_t size) {
        return value != NULL && PyList_CheckExact(value) && PyList_GET_SIZE(value) == size;
    }
    /* The counts and those before in `buckets`, and their sum; NULL without an error if they are not the usual ones. */
    static PyObject *otel_fastpath_merge(PyObject *counts, PyObject *before, PyObject *buckets, PyObject *zero) {
        Py_ssize_t at, size = PyTuple_GET_SIZE(buckets);
        long long sum = 0, number;
        int overflow;
        for (at = 0; at < size; at++) {
            PyObject *merged = PyList_GET_ITEM(before == Py_None ? counts : before, at);
            PyObject *count = counts == Py_None || before == Py_None ? NULL : PyList_GET_ITEM(counts, at);
            if (!PyLong_CheckExact(merged) || (count != NULL && !PyLong_CheckExact(count))) return NULL;
            /* Most buckets have no new counts. */
            number = count == NULL || count == zero ? 0 : PyLong_AsLongLongAndOverflow(count, &overflow);
            merged = number == 0 ? Py_NewRef(merged) : PyNumber_Add(merged, count);
            if (merged == NULL) return NULL;
            PyTuple_SET_ITEM(buckets, at, merged);
            if (merged == zero) continue;
            number = PyLong_AsLongLongAndOverflow(merged, &overflow);
            if (overflow || number < 0 || number > (1LL << 40)) return NULL;
            sum += number;
        }
        return PyLong_FromLongLong(sum);
    }
    static PyObject *otel_fastpath_take_histogram(PyObject *state, PyObject *lock_type, PyObject *usual,
                                                  PyObject *start) {
        PyObject *lock, *bounds, *counts, *before, *sum, *earlier, *least, *lower, *most, *upper, *attributes, *began;
        PyObject *fields = NULL, *buckets = NULL, *total = NULL, *count = NULL, **of = otel_fastpath_taking();
        Py_ssize_t at, size;
        int is_lower, is_upper, done = 0;
        if (of == NULL) return NULL;
        lock = PyDict_GetItemWithError(state, of[TAKE_LOCK]);
        bounds = lock == NULL ? NULL : PyDict_GetItemWithError(state, of[TAKE_BOUNDARIES]);
        if (bounds == NULL || !PyTuple_CheckExact(bounds)) goto end;
        size = PyTuple_GET_SIZE(bounds) + 1;
        /* Made first: the garbage collector may run, and with it the finalizers of others. */
        fields = PyDict_Copy(usual);
        buckets = fields == NULL ? NULL : PyTuple_New(size);
        if (buckets == NULL || otel_fastpath_is_unheld(lock, lock_type, of[TAKE_LOCKED]) <= 0) goto end;
        counts = PyDict_GetItemWithError(state, of[TAKE_VALUE]);
        before = PyDict_GetItemWithError(state, of[TAKE_PREVIOUS_VALUE]);
        sum = PyDict_GetItemWithError(state, of[TAKE_SUM]);
        earlier = PyDict_GetItemWithError(state, of[TAKE_PREVIOUS_SUM]);
        least = PyDict_GetItemWithError(state, of[TAKE_MIN]);
        lower = PyDict_GetItemWithError(state, of[TAKE_PREVIOUS_MIN]);
        most = PyDict_GetItemWithError(state, of[TAKE_MAX]);
        upper = PyDict_GetItemWithError(state, of[TAKE_PREVIOUS_MAX]);
        attributes = PyDict_GetItemWithError(state, of[TAKE_ATTRIBUTES]);
        began = PyDict_GetItemWithError(state, of[TAKE_BEGAN]);
        if (attributes == NULL || began == NULL || !otel_fastpath_is_number(sum) || !otel_fastpath_is_number(earlier)
            || !otel_fastpath_is_number(least) || !otel_fastpath_is_number(lower) || !otel_fastpath_is_number(most)
            || !otel_fastpath_is_number(upper) || (counts == Py_None && before == Py_None)
            || !(counts == Py_None || otel_fastpath_is_list(counts, size))
            || !(before == Py_None || otel_fastpath_is_list(before, size))) goto end;
        /* Everything is made before anything is stored. */
        count = otel_fastpath_merge(counts, before, buckets, of[TAKE_ZERO]);
        total = count == NULL ? NULL : PyNumber_Add(sum, earlier);
        if (total == NULL) goto end;
        is_lower = otel_fastpath_is_less(lower, least);
        is_upper = otel_fastpath_is_less(most, upper);
        done = is_lower < 0 || is_upper < 0
            || PyDict_SetItem(fields, of[POINT_ATTRIBUTES], attributes)
            || PyDict_SetItem(fields, of[POINT_START], began)
            || PyDict_SetItem(fields, of[POINT_TIME], start) || PyDict_SetItem(fields, of[POINT_COUNT], count)
            || PyDict_SetItem(fields, of[POINT_SUM], total) || PyDict_SetItem(fields, of[POINT_BUCKETS], buckets)
            || PyDict_SetItem(fields, of[POINT_BOUNDS], bounds)
            || PyDict_SetItem(fields, of[POINT_MIN], is_lower ? lower : least)
            || PyDict_SetItem(fields, of[POINT_MAX], is_upper ? upper : most) ? -1 : 1;
        if (done < 0) goto end;
        /* Of keys that are there: nothing is made, and nothing is freed that has a finalizer. */
        if (before == Py_None) {
            done = PyDict_SetItem(state, of[TAKE_PREVIOUS_VALUE], counts) ? -1 : 1;
        } else {
            for (at = 0; counts != Py_None && at < size; at++) {
                PyObject *merged = PyTuple_GET_ITEM(buckets, at);
                if (merged != PyList_GET_ITEM(before, at)) PyList_SetItem(before, at, Py_NewRef(merged));
            }
        }
        if (PyDict_SetItem(state, of[TAKE_PREVIOUS_SUM], total)
            || (!is_lower && PyDict_SetItem(state, of[TAKE_PREVIOUS_MIN], least))
            || (!is_upper && PyDict_SetItem(state, of[TAKE_PREVIOUS_MAX], most))
            || PyDict_SetItem(state, of[TAKE_VALUE], Py_None) || PyDict_SetItem(state, of[TAKE_SUM], of[TAKE_ZERO])
            || PyDict_SetItem(state, of[TAKE_MIN], of[TAKE_MOST])
            || PyDict_SetItem(state, of[TAKE_MAX], of[TAKE_LEAST])) done = -1;
    end:
        Py_XDECREF(buckets);
        Py_XDECREF(total);
        Py_XDECREF(count);
        if (done > 0) return fields;
        Py_XDECREF(fields);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    static PyObject *otel_fastpath_take_sum(PyObject *state, PyObject *lock_type, PyObject *usual, PyObject *start) {
        PyObject *lock, *value, *before, *attributes, *began, *fields, *total = NULL, **of = otel_fastpath_taking();
        int done = 0;
        if (of == NULL) return NULL;
        lock = PyDict_GetItemWithError(state, of[TAKE_LOCK]);
        fields = lock == NULL ? NULL : PyDict_Copy(usual);
        if (fields == NULL || otel_fastpath_is_unheld(lock, lock_type, of[TAKE_LOCKED]) <= 0) goto end;
        value = PyDict_GetItemWithError(state, of[TAKE_VALUE]);
        before = PyDict_GetItemWithError(state, of[TAKE_PREVIOUS_VALUE]);
        attributes = PyDict_GetItemWithError(state, of[TAKE_ATTRIBUTES]);
        began = PyDict_GetItemWithError(state, of[TAKE_BEGAN]);
        if (attributes == NULL || began == NULL || !otel_fastpath_is_number(before)
            || !(value == Py_None || otel_fastpath_is_number(value))) goto end;
        total = PyNumber_Add(value == Py_None ? of[TAKE_ZERO] : value, before);
        if (total == NULL) goto end;
        done = PyDict_SetItem(fields, of[POINT_ATTRIBUTES], attributes)
            || PyDict_SetItem(fields, of[POINT_START], began) || PyDict_SetItem(fields, of[POINT_TIME], start)
            || PyDict_SetItem(fields, of[POINT_VALUE], total)
            || PyDict_SetItem(state, of[TAKE_PREVIOUS_VALUE], total)
            || PyDict_SetItem(state, of[TAKE_VALUE], Py_None) ? -1 : 1;
    end:
        Py_XDECREF(total);
        if (done > 0) return fields;
        Py_XDECREF(fields);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    #endif
    /* An instance of a class without slots that has these fields. */
    static PyObject *otel_fastpath_with_fields(PyObject *type, PyObject *fields) {
        static PyObject *shared_name = NULL;
        PyObject *made, *name = otel_fastpath_load(&shared_name);
        if (name == NULL) {
            name = PyUnicode_InternFromString("__dict__");
            if (name == NULL) return NULL;
            otel_fastpath_store(&shared_name, name);
        }
        made = otel_fastpath_new_instance(type);
        if (made != NULL && PyObject_GenericSetAttr(made, name, fields)) Py_CLEAR(made);
        return made;
    }
    """
    object take_histogram "otel_fastpath_take_histogram"(dict state, object lock_type, dict usual, object start)
    object take_sum "otel_fastpath_take_sum"(dict state, object lock_type, dict usual, object start)
    object with_fields "otel_fastpath_with_fields"(object kind, dict fields)
