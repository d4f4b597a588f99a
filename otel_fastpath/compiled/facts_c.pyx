# cython: language_level=3
"""The compiled form of facts.py: CPython reports changes of classes and modules that are watched (3.12 and later).

It does not report every change of an instance (seen in 3.13.0), so instances are looked at each time.
"""

cimport cython

from types import ModuleType

from otel_fastpath.compiled import facts as _pure

cdef extern from *:
    """
    static otel_fastpath_shared_count *otel_fastpath_changes;
    #if PY_VERSION_HEX >= 0x030C0000
    static int otel_fastpath_type_watcher = -1, otel_fastpath_dict_watcher = -1;
    static int otel_fastpath_is_watching(void) {
        return otel_fastpath_type_watcher >= 0 && otel_fastpath_dict_watcher >= 0;
    }
    static int otel_fastpath_type_changed(PyTypeObject *Py_UNUSED(type)) {
        otel_fastpath_add_one(otel_fastpath_changes);
        return 0;
    }
    static int otel_fastpath_dict_changed(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict),
                                          PyObject *Py_UNUSED(key), PyObject *Py_UNUSED(value)) {
        otel_fastpath_add_one(otel_fastpath_changes);
        return 0;
    }
    static void otel_fastpath_start_watching(otel_fastpath_shared_count *changes) {
        otel_fastpath_changes = changes;
        otel_fastpath_type_watcher = PyType_AddWatcher(otel_fastpath_type_changed);
        otel_fastpath_dict_watcher = PyDict_AddWatcher(otel_fastpath_dict_changed);
        /* An interpreter has eight of each. */
        PyErr_Clear();
    }
    /* A class without a version tag, of which it can get a limited number, reports no change. */
    static int otel_fastpath_watch_class(PyObject *type) {
        int is_watched = otel_fastpath_type_watcher >= 0 && !PyType_Watch(otel_fastpath_type_watcher, type)
                         && PyUnstable_Type_AssignVersionTag((PyTypeObject *)type);
        PyErr_Clear();
        return is_watched;
    }
    static int otel_fastpath_watch_dict(PyObject *dict) {
        int is_watched = otel_fastpath_dict_watcher >= 0 && !PyDict_Watch(otel_fastpath_dict_watcher, dict);
        PyErr_Clear();
        return is_watched;
    }
    #else
    static int otel_fastpath_is_watching(void) { return 0; }
    static void otel_fastpath_start_watching(otel_fastpath_shared_count *changes) {
        otel_fastpath_changes = changes;
    }
    static int otel_fastpath_watch_class(PyObject *Py_UNUSED(type)) { return 0; }
    static int otel_fastpath_watch_dict(PyObject *Py_UNUSED(dict)) { return 0; }
    #endif
    """
    bint is_watching "otel_fastpath_is_watching"()
    void start_watching "otel_fastpath_start_watching"(unsigned long *changes)
    bint watch_class "otel_fastpath_watch_class"(object kind)
    bint watch_dict "otel_fastpath_watch_dict"(object mapping)
    void one_more "otel_fastpath_add_one"(shared_count *changes)


ABSENT = _pure.ABSENT
cdef object _WATCHED = _pure.WatchedFact
cdef object _holds = _pure.holds_now
cdef object _is_same = _pure.is_same
# Guards what CPython keeps of watchers.
cdef object _watching = object()


@cython.critical_section
cdef object _in_module(dict namespace, object module, object name):
    """The attribute, read while no other thread changes it: the change is reported before it is made."""
    return getattr(module, name, ABSENT)


cdef bint _has_value(object found, object value) except -1:
    return found is value or _is_same(found, value)


cdef class Instance:
    """The facts about one object.

    `fields` is its `__dict__`, in which `name` has `value` and the names in `absent` are missing. Those are looked up
    again when the number of fields is not `size` any more.
    """

    def __init__(self, dict fields, Instance after):
        self.fields = fields
        self.after = after
        self.absent = []
        self.size = -1


cdef tuple _looked_at(tuple items):
    """Where nothing is watched, without the facts that are only looked at where that is free, and hold."""
    if is_watching():
        return items
    return tuple([fact for fact in items if type(fact) is not _WATCHED or not _holds(fact)])


@cython.final
cdef class Facts:
    """Attributes with their values."""

    def __init__(self, items):
        cdef Instance instance
        self.items = tuple(items)
        self.looked_at = _looked_at(self.items)
        self.seen = self.missed = 0
        for owner, name, value in self.items:
            if isinstance(owner, (type, ModuleType)):
                continue
            instance = self.instances
            while instance is not None and (instance.fields is not owner.__dict__ or value is not ABSENT):
                instance = instance.after
            if instance is None:
                instance = self.instances = Instance(owner.__dict__, self.instances)
            if value is ABSENT:
                instance.absent.append(name)
            else:
                instance.name, instance.value = name, value

    @cython.critical_section
    cpdef renew(self, items):
        """Hold these attributes from now on, of classes and modules only."""
        self.items = tuple(items)
        self.looked_at = _looked_at(self.items)
        # What another thread has found out meanwhile is about the others.
        one_more(&changes)

    def is_held(self):
        """What `hold` returns."""
        return self.hold()

    @property
    def is_complete(self):
        """Whether `hold` takes none of them for granted."""
        return len(self._known()) == len(self.items)

    @cython.critical_section
    cdef tuple _known(self):
        return self.looked_at

    cdef bint _recheck(self) except -1:
        """Look at the attributes of classes and modules again, and watch them."""
        cdef unsigned long before = changes
        cdef bint is_watched = True
        for owner, name, value in self._known():
            if isinstance(owner, type):
                with cython.critical_section(_watching):
                    is_watched = watch_class(owner) and is_watched
                if not _has_value(getattr(owner, name, ABSENT), value):
                    return self._miss(before, is_watched)
            elif isinstance(owner, ModuleType):
                namespace = owner.__dict__
                # CPython 3.13 marks the dict as watched without its lock: a change at the same time could undo that.
                with cython.critical_section(_watching, namespace):
                    is_watched = watch_dict(namespace) and is_watched
                if not _has_value(_in_module(namespace, owner, name), value):
                    return self._miss(before, is_watched)
        if is_watched:
            self.seen = before
        return True

    cdef bint _miss(self, unsigned long before, bint is_watched) except -1:
        """They do not hold, and will not until the next change that is reported; returns False."""
        if is_watched:
            self.missed = before
        return False

    cdef bint _are_same(self, Instance instance) except -1:
        """Whether the objects still have, and have not, what they had."""
        while instance is not None:
            if instance.name is not None and instance.fields[instance.name] is not instance.value:
                return False
            if len(instance.fields) != instance.size:
                for name in instance.absent:
                    if name in instance.fields:
                        return False
                instance.size = len(instance.fields)
            instance = instance.after
        return True


changes = 1
start_watching(&changes)
