# The C forms of helpers.py.
from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <math.h>
    #include <time.h>
    #ifdef _WIN32
    #include <process.h>
    #define otel_fastpath_process_id _getpid
    #else
    #include <unistd.h>
    #define otel_fastpath_process_id getpid
    #endif
    /* With the interpreter lock, a borrowed reference cannot be dropped before there is one of our own. Without it, a
       dict that threads share is read with a strong reference, and walked through in a critical section. */
    #define otel_fastpath_drop_finalizer(instance, plain) 0
    #define otel_fastpath_address(value) ((Py_ssize_t)(value))
    #ifdef Py_GIL_DISABLED
    #define OTEL_FASTPATH_BEGIN(object) Py_BEGIN_CRITICAL_SECTION(object);
    #define OTEL_FASTPATH_END Py_END_CRITICAL_SECTION();
    #define otel_fastpath_get PyDict_GetItemRef
    #else
    #define OTEL_FASTPATH_BEGIN(object) {
    #define OTEL_FASTPATH_END }
    static inline int otel_fastpath_get(PyObject *mapping, PyObject *key, PyObject **value) {
        *value = Py_XNewRef(PyDict_GetItemWithError(mapping, key));
        return *value != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
    }
    #endif
    #ifdef _MSC_VER
    #define otel_fastpath_load(place) (*(void *volatile *)(place))
    #define otel_fastpath_store(place, value) (*(void *volatile *)(place) = (void *)(value))
    #else
    #define otel_fastpath_load(place) __atomic_load_n(place, __ATOMIC_ACQUIRE)
    #define otel_fastpath_store(place, value) __atomic_store_n(place, value, __ATOMIC_RELEASE)
    #endif
    static PyObject *otel_fastpath_item(PyObject *value, Py_ssize_t index) {
        return Py_NewRef(PyTuple_GET_ITEM(value, index));
    }
    /* Whether the value is a float, or an int that is exact as one. */
    static int otel_fastpath_as_double(PyObject *value, double *number) {
        long long integer;
        int overflow;
        if (PyFloat_CheckExact(value)) {
            *number = PyFloat_AS_DOUBLE(value);
            return 1;
        }
        if (!PyLong_CheckExact(value)) return 0;
        integer = PyLong_AsLongLongAndOverflow(value, &overflow);
        *number = (double)integer;
        return !overflow && integer >= -(1LL << 53) && integer <= (1LL << 53);
    }
    static int otel_fastpath_is_less(PyObject *value, PyObject *other) {
        double number, limit;
        if (otel_fastpath_as_double(value, &number) && otel_fastpath_as_double(other, &limit)) return number < limit;
        return PyObject_RichCompareBool(value, other, Py_LT);
    }
    static Py_ssize_t otel_fastpath_bisect_left(PyObject *sorted, PyObject *value) {
        Py_ssize_t low = 0, high = PySequence_Size(sorted);
        if (high < 0) return -1;
        while (low < high) {
            Py_ssize_t middle = low + (high - low) / 2;
            PyObject *item = PySequence_GetItem(sorted, middle);
            int is_less = item == NULL ? -1 : otel_fastpath_is_less(item, value);
            Py_XDECREF(item);
            if (is_less < 0) return -1;
            if (is_less) low = middle + 1; else high = middle;
        }
        return low;
    }
    /* Python's own `time.time_ns` is read without a call. One that was replaced, as an object or inside it, is called. */
    static PyObject *otel_fastpath_read_clock(PyObject *module) {
        static PyObject *shared_name = NULL, *shared_standard = NULL;
        static PyCFunction shared_function = NULL;
        PyObject *clock, *name, *standard = otel_fastpath_load(&shared_standard);
        PyCFunction function;
        struct timespec now;
        if (standard == NULL) {
            /* Threads that come here at the same time store the same values; the one that is looked at is the last. */
            PyObject *time = PyImport_ImportModule("time");
            name = PyUnicode_InternFromString("time_ns");
            standard = time == NULL || name == NULL ? NULL : PyObject_GetAttr(time, name);
            Py_XDECREF(time);
            if (standard == NULL) return NULL;
            otel_fastpath_store(&shared_name, name);
            function = PyCFunction_CheckExact(standard) ? PyCFunction_GetFunction(standard) : NULL;
            otel_fastpath_store(&shared_function, function);
            otel_fastpath_store(&shared_standard, standard);
        }
        name = otel_fastpath_load(&shared_name);
        function = otel_fastpath_load(&shared_function);
        /* Compared only, so a borrowed reference is enough. */
        clock = PyDict_GetItemWithError(module, name);
        if (clock == standard && function != NULL && PyCFunction_GetFunction(standard) == function) {
            timespec_get(&now, TIME_UTC);
            return PyLong_FromLongLong((long long)now.tv_sec * 1000000000LL + now.tv_nsec);
        }
        if (otel_fastpath_get(module, name, &clock) <= 0) {
            if (!PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
            return NULL;
        }
        PyObject *read = PyObject_CallNoArgs(clock);
        Py_DECREF(clock);
        return read;
    }
    #ifdef Py_GIL_DISABLED
    #define otel_fastpath_is_free(is_locked) 0
    #define otel_fastpath_add_to_sum(is_locked, state, amount) 0
    #define otel_fastpath_add_to_histogram(is_locked, state, amount, index, keeps_extremes, made) 0
    #else
    /* 1 if nobody holds the lock, which stays so until Python code runs; 0 if somebody does. */
    static int otel_fastpath_is_free(PyObject *is_locked) {
        PyObject *found = PyObject_CallNoArgs(is_locked);
        Py_XDECREF(found);
        return found == NULL ? -1 : found == Py_False;
    }
    static int otel_fastpath_is_number(PyObject *value) {
        return value != NULL && (PyLong_CheckExact(value) || PyFloat_CheckExact(value));
    }
    static int otel_fastpath_add_to_sum(PyObject *is_locked, PyObject *state, PyObject *amount) {
        static PyObject *shared_name = NULL;
        PyObject *value, *sum, *zero, *name = otel_fastpath_load(&shared_name);
        int added = otel_fastpath_is_free(is_locked);
        if (added <= 0) return added;
        if (name == NULL) {
            name = PyUnicode_InternFromString("_value");
            if (name == NULL) return -1;
            otel_fastpath_store(&shared_name, name);
        }
        value = PyDict_GetItemWithError(state, name);
        /* None: nothing was added since the last collection. */
        zero = PyLong_FromLong(0);
        if (zero != NULL && value == Py_None) value = zero;
        if (otel_fastpath_is_number(value)) {
            sum = PyNumber_Add(value, amount);
            added = sum == NULL || PyDict_SetItem(state, name, sum) ? -1 : 1;
            Py_XDECREF(sum);
        } else {
            added = PyErr_Occurred() ? -1 : 0;
        }
        Py_XDECREF(zero);
        return added;
    }
    static int otel_fastpath_add_to_histogram(PyObject *is_locked, PyObject *state, PyObject *amount,
                                              Py_ssize_t index, int keeps_extremes, PyObject *made) {
        static PyObject *shared_names = NULL;
        PyObject *counts, *before, *sum, *least, *most, *added = NULL, *names = otel_fastpath_load(&shared_names);
        int is_less = 0, is_more = 0, done = otel_fastpath_is_free(is_locked);
        if (done <= 0) return done;
        if (names == NULL) {
            names = Py_BuildValue("(NNNNi)", PyUnicode_InternFromString("_value"), PyUnicode_InternFromString("_sum"),
                                  PyUnicode_InternFromString("_min"), PyUnicode_InternFromString("_max"), 1);
            if (names == NULL) return -1;
            otel_fastpath_store(&shared_names, names);
        }
        before = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(names, 0));
        counts = before == Py_None ? made : before;
        sum = counts == NULL ? NULL : PyDict_GetItemWithError(state, PyTuple_GET_ITEM(names, 1));
        if (sum == NULL || !PyList_CheckExact(counts) || index >= PyList_GET_SIZE(counts)
            || !otel_fastpath_is_number(sum)) return PyErr_Occurred() ? -1 : 0;
        if (keeps_extremes) {
            least = PyDict_GetItemWithError(state, PyTuple_GET_ITEM(names, 2));
            most = least == NULL ? NULL : PyDict_GetItemWithError(state, PyTuple_GET_ITEM(names, 3));
            if (!otel_fastpath_is_number(least) || !otel_fastpath_is_number(most)) return PyErr_Occurred() ? -1 : 0;
            is_less = otel_fastpath_is_less(amount, least);
            is_more = otel_fastpath_is_less(most, amount);
        }
        /* Everything is made before anything is stored. */
        sum = PyNumber_Add(sum, amount);
        if (sum != NULL) added = PyNumber_Add(PyList_GET_ITEM(counts, index), PyTuple_GET_ITEM(names, 4));
        done = added == NULL || is_less < 0 || is_more < 0 || PyDict_SetItem(state, PyTuple_GET_ITEM(names, 1), sum)
               || (is_less && PyDict_SetItem(state, PyTuple_GET_ITEM(names, 2), amount))
               || (is_more && PyDict_SetItem(state, PyTuple_GET_ITEM(names, 3), amount))
               || PyList_SetItem(counts, index, Py_NewRef(added))
               || (counts != before && PyDict_SetItem(state, PyTuple_GET_ITEM(names, 0), counts)) ? -1 : 1;
        Py_XDECREF(sum);
        Py_XDECREF(added);
        return done;
    }
    #endif
    static inline int otel_fastpath_is_instance(PyObject *kind, PyObject *value) {
        return PyObject_TypeCheck(value, (PyTypeObject *)kind);
    }
    static int otel_fastpath_has_no_fields(PyObject *instance) {
        PyObject *fields = PyObject_GenericGetDict(instance, NULL);
        int is_empty = fields == NULL ? -1 : !PyDict_Size(fields);
        Py_XDECREF(fields);
        return is_empty;
    }
    static PyObject *otel_fastpath_new_instance(PyObject *type) {
        PyObject *none = PyTuple_New(0);
        PyObject *made = none == NULL ? NULL : ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, none, NULL);
        Py_XDECREF(none);
        return made;
    }
    static PyObject *otel_fastpath_new_tuple(PyObject *type, PyObject *items) {
        PyObject *given = PyTuple_Pack(1, items);
        PyObject *made = given == NULL ? NULL : PyTuple_Type.tp_new((PyTypeObject *)type, given, NULL);
        Py_XDECREF(given);
        return made;
    }
    static inline PyObject *otel_fastpath_get_item(PyObject *mapping, PyObject *key) {
        PyObject *value;
        return otel_fastpath_get(mapping, key, &value) ? value : Py_NewRef(Py_None);
    }
    #ifdef Py_GIL_DISABLED
    /* In a section of the dict, which PyDict_Copy would leave: it locks the dict again. */
    static PyObject *otel_fastpath_copied_here(PyObject *mapping) {
        PyObject *key, *value, *copy = PyDict_New();
        Py_ssize_t place = 0;
        int failed = copy == NULL;
        while (!failed && PyDict_Next(mapping, &place, &key, &value)) failed = PyDict_SetItem(copy, key, value);
        if (failed) Py_CLEAR(copy);
        return copy;
    }
    #else
    #define otel_fastpath_copied_here PyDict_Copy
    #endif
    static PyObject *otel_fastpath_copied(PyObject *mapping) {
        PyObject *copy;
        OTEL_FASTPATH_BEGIN(mapping)
        copy = otel_fastpath_copied_here(mapping);
        OTEL_FASTPATH_END
        return copy;
    }
    static PyObject *otel_fastpath_get_value(PyObject *variable) {
        PyObject *value = NULL;
        if (!PyContextVar_Get(variable, NULL, &value) && value == NULL) PyErr_SetObject(PyExc_LookupError, variable);
        return value;
    }
    static PyObject *otel_fastpath_current_value(PyObject *variable, PyObject *key) {
        PyObject *mapping = NULL, *value = NULL;
        if (PyContextVar_Get(variable, NULL, &mapping)) return NULL;
        if (mapping != NULL && PyDict_Size(mapping)) otel_fastpath_get(mapping, key, &value);
        if (value == NULL && !PyErr_Occurred()) value = Py_NewRef(Py_None);
        Py_XDECREF(mapping);
        return value;
    }
    static PyObject *otel_fastpath_with_value(PyObject *type, PyObject *mapping, PyObject *key, PyObject *value) {
        PyObject *made = PyDict_Type.tp_new((PyTypeObject *)type, NULL, NULL);
        Py_ssize_t size = mapping == Py_None ? 0 : PyDict_Size(mapping);
        int has_key = 0;
        /* Most contexts are empty, or hold a span and nothing else. An equal key stays the one that it is. */
        if (size == 1 && (has_key = PyDict_Contains(mapping, key)) > 0) {
            Py_ssize_t at = 0;
            PyDict_Next(mapping, &at, &key, NULL);
        }
        if (made == NULL || size < 0 || has_key < 0 || (size > has_key && PyDict_Update(made, mapping))
            || PyDict_SetItem(made, key, value)) Py_CLEAR(made);
        return made;
    }
    static PyObject *otel_fastpath_set_with_value(PyObject *variable, PyObject *type, PyObject *key, PyObject *value) {
        PyObject *mapping = NULL, *made, *token;
        if (PyContextVar_Get(variable, NULL, &mapping)) return NULL;
        made = otel_fastpath_with_value(type, mapping, key, value);
        token = made == NULL ? NULL : PyContextVar_Set(variable, made);
        Py_XDECREF(made);
        Py_XDECREF(mapping);
        return token;
    }
    static int otel_fastpath_is_plain(PyObject *attributes, Py_ssize_t longest) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(attributes, &at, &key, &value)) {
            if (!PyUnicode_CheckExact(key) || !PyUnicode_GET_LENGTH(key)) return 0;
            if (PyUnicode_CheckExact(value)) {
                if (PyUnicode_GET_LENGTH(value) > longest) return 0;
            } else if (!PyLong_CheckExact(value) && !PyBool_Check(value) && !PyFloat_CheckExact(value)) {
                return 0;
            }
        }
        return 1;
    }
    static PyObject *otel_fastpath_plain_copy(PyObject *attributes, Py_ssize_t longest) {
        PyObject *made;
        OTEL_FASTPATH_BEGIN(attributes)
        made = otel_fastpath_is_plain(attributes, longest) ? otel_fastpath_copied_here(attributes) : Py_NewRef(Py_None);
        OTEL_FASTPATH_END
        return made;
    }
    static int otel_fastpath_has_keys(PyObject *mapping, PyObject *other) {
        PyObject *key;
        Py_ssize_t at = 0;
        int found = PyDict_GET_SIZE(mapping) >= PyDict_GET_SIZE(other);
        while (found == 1 && PyDict_Next(other, &at, &key, NULL)) found = PyDict_Contains(mapping, key);
        return found;
    }
    static int otel_fastpath_is_clean(PyObject *attributes, Py_ssize_t longest) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        int state = 1;
        OTEL_FASTPATH_BEGIN(attributes)
        while (state >= 0 && PyDict_Next(attributes, &at, &key, &value)) {
            if (!PyUnicode_CheckExact(key) || !PyUnicode_GET_LENGTH(key)) {
                state = -1;
            } else if (PyUnicode_CheckExact(value)) {
                if (PyUnicode_GET_LENGTH(value) > longest) state = 0;
            } else if (!PyLong_CheckExact(value) && !PyBool_Check(value) && !PyFloat_CheckExact(value)
                       && value != Py_None && !PyBytes_CheckExact(value)) {
                state = 0;
            }
        }
        OTEL_FASTPATH_END
        return state;
    }
    static PyObject *otel_fastpath_other_items(PyObject *mapping, PyObject *usual, PyObject *names) {
        PyObject *key, *value, *made = Py_NewRef(Py_None);
        Py_ssize_t at = 0, next = 0;
        OTEL_FASTPATH_BEGIN(mapping)
        while (made != NULL && PyDict_Next(mapping, &at, &key, &value)) {
            int known = 0;
            if (next < PyTuple_GET_SIZE(usual) && key == PyTuple_GET_ITEM(usual, next)) {
                next++;
                continue;
            }
            /* The hash and the comparison of any other key are other people's code, which may change the mapping. */
            Py_INCREF(key);
            Py_INCREF(value);
            if (PyUnicode_CheckExact(key)) known = PySet_Contains(names, key);
            if (!known && made == Py_None) Py_SETREF(made, PyDict_New());
            if (known < 0 || made == NULL || (!known && PyDict_SetItem(made, key, value))) Py_CLEAR(made);
            Py_DECREF(key);
            Py_DECREF(value);
        }
        OTEL_FASTPATH_END
        return made;
    }
    static PyObject *otel_fastpath_attribute_key(PyObject *attributes) {
        PyObject *key, *value, *made;
        Py_ssize_t at = 0, size = 0;
        OTEL_FASTPATH_BEGIN(attributes)
        made = PyTuple_New(3 * PyDict_Size(attributes));
        while (made != NULL && PyDict_Next(attributes, &at, &key, &value)) {
            PyTuple_SET_ITEM(made, size++, Py_NewRef(key));
            PyTuple_SET_ITEM(made, size++, Py_NewRef((PyObject *)Py_TYPE(value)));
            PyTuple_SET_ITEM(made, size++, Py_NewRef(value));
        }
        OTEL_FASTPATH_END
        return made;
    }
    """
    bint HOLDS_CHEAPLY "1"
    object get_item "otel_fastpath_get_item"(dict mapping, object key)
    object value_of "otel_fastpath_get_item"(object mapping, object key)
    dict copied "otel_fastpath_copied"(dict mapping)
    object get_value "otel_fastpath_get_value"(object variable)
    object set_value "PyContextVar_Set"(object variable, object value)
    int reset_value "PyContextVar_Reset"(object variable, object token) except -1
    int process_id "otel_fastpath_process_id"()
    Py_ssize_t address "otel_fastpath_address"(object value)
    int set_item "PyDict_SetItem"(object mapping, object key, object value) except -1
    bint is_instance "otel_fastpath_is_instance"(object kind, object value)
    object item "otel_fastpath_item"(object value, Py_ssize_t index)
    Py_ssize_t bisect_left "otel_fastpath_bisect_left"(object ascending, object value) except -1
    object read_clock "otel_fastpath_read_clock"(dict module)
    long long rounded "llrint"(double value)
    bint is_free "otel_fastpath_is_free"(object is_locked) except -1
    bint add_to_sum "otel_fastpath_add_to_sum"(object is_locked, dict state, object amount) except -1
    bint add_to_histogram "otel_fastpath_add_to_histogram"(
        object is_locked, dict state, object amount, Py_ssize_t index, bint keeps_extremes, object made) except -1
    int drop_finalizer "otel_fastpath_drop_finalizer"(object instance, object plain) except -1
    bint has_no_fields "otel_fastpath_has_no_fields"(object instance) except -1
    object new_instance "otel_fastpath_new_instance"(object kind)
    object new_tuple "otel_fastpath_new_tuple"(object kind, tuple items)
    object current_value "otel_fastpath_current_value"(object variable, object key)
    object with_value "otel_fastpath_with_value"(object kind, object mapping, object key, object value)
    object set_with_value "otel_fastpath_set_with_value"(object variable, object kind, object key, object value)
    object plain_copy "otel_fastpath_plain_copy"(dict attributes, Py_ssize_t longest)
    bint has_keys "otel_fastpath_has_keys"(dict mapping, dict other) except -1
    int is_clean "otel_fastpath_is_clean"(dict attributes, Py_ssize_t longest)
    object other_items "otel_fastpath_other_items"(dict mapping, tuple usual, frozenset names)
    object attribute_key "otel_fastpath_attribute_key"(dict attributes)
