# The C forms of exponential_buckets.py.
# Its C functions call some that stand there.
from otel_fastpath.compiled.helpers_c cimport is_free

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define otel_fastpath_add_to_exponential(is_locked, state, buckets, own, amount, is_negative, index, mapping, scale, \
                                             keeps_extremes) 0
    #else
    static int otel_fastpath_read_index(PyObject *own, PyObject *name, long long *index) {
        PyObject *value = PyDict_GetItemWithError(own, name);
        int overflow;
        if (value == NULL || !PyLong_CheckExact(value)) return 0;
        *index = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow;
    }
    static int otel_fastpath_add_to_exponential(PyObject *is_locked, PyObject *state, PyObject *buckets, PyObject *own,
                                                PyObject *amount, int is_negative, long long index, PyObject *mapping,
                                                PyObject *scale, int keeps_extremes) {
        static PyObject *shared_names = NULL;
        PyObject *counts, *sum, *count, *least, *most, *added = NULL, *total = NULL;
        PyObject *one, **of, *names = otel_fastpath_load(&shared_names);
        long long base, start, end;
        int is_less = 0, is_more = 0, done = otel_fastpath_is_free(is_locked);
        if (done <= 0) return done;
        if (names == NULL) {
            static const char *texts[] = {
                "_mapping", "_value_positive", "_value_negative", "_sum", "_count", "_scale", "_min", "_max",
                "_counts", "_Buckets__index_base", "_Buckets__index_start", "_Buckets__index_end"};
            int at, number = sizeof(texts) / sizeof(*texts);
            names = PyTuple_New(number + 1);
            for (at = 0; names != NULL && at <= number; at++) {
                PyObject *name = at < number ? PyUnicode_InternFromString(texts[at]) : PyLong_FromLong(1);
                if (name == NULL) Py_CLEAR(names); else PyTuple_SET_ITEM(names, at, name);
            }
            if (names == NULL) return -1;
            otel_fastpath_store(&shared_names, names);
        }
        of = &PyTuple_GET_ITEM(names, 0);
        one = of[12];
        if (PyDict_GetItemWithError(state, of[0]) != mapping
            || PyDict_GetItemWithError(state, of[is_negative ? 2 : 1]) != buckets) return PyErr_Occurred() ? -1 : 0;
        sum = PyDict_GetItemWithError(state, of[3]);
        count = sum == NULL ? NULL : PyDict_GetItemWithError(state, of[4]);
        counts = count == NULL ? NULL : PyDict_GetItemWithError(own, of[8]);
        if (counts == NULL || !PyList_CheckExact(counts) || !otel_fastpath_is_number(sum)
            || !PyLong_CheckExact(count) || !otel_fastpath_read_index(own, of[9], &base)
            || !otel_fastpath_read_index(own, of[10], &start) || !otel_fastpath_read_index(own, of[11], &end)
            || index < start || index > end) return PyErr_Occurred() ? -1 : 0;
        index -= base;
        if (index < 0) index += PyList_GET_SIZE(counts);
        if (index < 0 || index >= PyList_GET_SIZE(counts)) return 0;
        if (keeps_extremes) {
            least = PyDict_GetItemWithError(state, of[6]);
            most = least == NULL ? NULL : PyDict_GetItemWithError(state, of[7]);
            if (!otel_fastpath_is_number(least) || !otel_fastpath_is_number(most)) return PyErr_Occurred() ? -1 : 0;
            is_less = otel_fastpath_is_less(amount, least);
            is_more = otel_fastpath_is_less(most, amount);
        }
        /* Everything is made before anything is stored. */
        sum = PyNumber_Add(sum, amount);
        if (sum != NULL) total = PyNumber_Add(count, one);
        if (total != NULL) added = PyNumber_Add(PyList_GET_ITEM(counts, index), one);
        done = added == NULL || is_less < 0 || is_more < 0 || PyDict_SetItem(state, of[3], sum)
               || PyDict_SetItem(state, of[4], total) || PyDict_SetItem(state, of[5], scale)
               || (is_less && PyDict_SetItem(state, of[6], amount))
               || (is_more && PyDict_SetItem(state, of[7], amount))
               || PyList_SetItem(counts, index, Py_NewRef(added)) ? -1 : 1;
        Py_XDECREF(sum);
        Py_XDECREF(total);
        Py_XDECREF(added);
        return done;
    }
    #endif
    static PyObject *otel_fastpath_rotate(PyObject *items, Py_ssize_t count) {
        PyObject *made;
        OTEL_FASTPATH_BEGIN(items)
        Py_ssize_t at, size = PyList_GET_SIZE(items);
        made = PyList_New(size);
        for (at = 0; made != NULL && at < size; at++) {
            Py_ssize_t from = at < count ? size - count + at : at - count;
            PyList_SET_ITEM(made, at, Py_NewRef(PyList_GET_ITEM(items, from)));
        }
        OTEL_FASTPATH_END
        return made;
    }
    /* The least normal double, and its exponent; a power of two has one half as its mantissa, and the next exponent. */
    static Py_ssize_t otel_fastpath_bucket_index(PyObject *amount, PyObject *scale, double factor) {
        const double least = 2.2250738585072014e-308;
        double value = PyFloat_CheckExact(amount) ? PyFloat_AS_DOUBLE(amount) : PyFloat_AsDouble(amount);
        long long number = PyLong_AsLongLong(scale), most, found;
        int exponent, is_power;
        if (PyErr_Occurred()) return -1;
        is_power = frexp(value, &exponent) == 0.5;
        if (number <= 0) {
            if (value < least) return (Py_ssize_t)((-1022LL >> -number) - (number > -2));
            return (Py_ssize_t)((exponent - 1LL - is_power) >> -number);
        }
        if (value <= least) return (Py_ssize_t)(-1022LL * (1LL << number) - 1);
        if (is_power) return (Py_ssize_t)((exponent - 1LL) * (1LL << number) - 1);
        most = 1024LL * (1LL << number) - 1;
        found = (long long)floor(log(value) * factor);
        return (Py_ssize_t)(found < most ? found : most);
    }
    """
    list rotate "otel_fastpath_rotate"(list items, Py_ssize_t count)
    bint add_to_exponential "otel_fastpath_add_to_exponential"(
        object is_locked, dict state, object buckets, dict own, object amount, bint is_negative, long long index,
        object mapping, object scale, bint keeps_extremes) except -1
    Py_ssize_t bucket_index "otel_fastpath_bucket_index"(object amount, object scale, double factor) except? -1
