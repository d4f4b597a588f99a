"""Whoever watches a module is told of each time that it is executed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
from importlib.machinery import SourceFileLoader

import pytest

from otel_fastpath.patching import imports


@pytest.fixture
def watch():
    """Watches modules and notes what it is told, until the end of the test."""
    watches = []

    def start(*names, call=None):
        told = []
        call = call or told.append
        imports.watch(names, call)
        watches.append((names, call))
        return told

    yield start
    for names, call in watches:
        imports.unwatch(names, call)


def test_the_first_import_is_told_once_the_module_is_complete(modules, watch):
    """The call comes after the module's last line, and from no other module."""
    modules("subject_a", "value = 1")
    modules("subject_b")
    told = []
    watch("subject_a", call=lambda name: told.append((name, sys.modules[name].value)))

    importlib.import_module("subject_b")
    importlib.import_module("subject_a")

    assert told == [("subject_a", 1)]


def test_later_imports_and_reloads_are_told_too(modules, watch):
    """A module that is imported anew or reloaded is a new one."""
    modules("subject_c")
    told = watch("subject_c")

    module = importlib.import_module("subject_c")
    importlib.reload(module)
    del sys.modules["subject_c"]
    importlib.import_module("subject_c")

    assert told == ["subject_c"] * 3


def test_an_import_that_fails_is_not_told(modules, watch):
    """Its exception is the importer's."""
    modules("subject_d", "raise RuntimeError('no')")
    told = watch("subject_d")

    with pytest.raises(RuntimeError, match="no"):
        importlib.import_module("subject_d")

    assert told == []


def test_nothing_is_told_after_unwatch(modules, watch):
    """One watcher leaves, the other stays."""
    modules("subject_e")
    gone, stays = [], watch("subject_e")
    imports.watch(["subject_e"], gone.append)
    imports.unwatch(["subject_e"], gone.append)

    importlib.import_module("subject_e")

    assert (gone, stays) == ([], ["subject_e"])


def test_the_module_keeps_its_own_loader(modules, watch):
    """Nothing of ours can be seen on an imported module, nor on the kind of a loader that was only looked up."""
    modules("subject_f")
    watch("subject_f")

    assert isinstance(importlib.util.find_spec("subject_f").loader, SourceFileLoader)
    assert importlib.util.find_spec("subject_f").loader.get_source("subject_f") == ""
    module = importlib.import_module("subject_f")

    assert type(module.__loader__) is SourceFileLoader
    assert type(module.__spec__.loader) is SourceFileLoader


def test_what_does_not_exist_stays_missing(watch):
    """A watched module that nobody has is an ImportError, and no module."""
    told = watch("subject_nowhere")

    with pytest.raises(ModuleNotFoundError, match="subject_nowhere"):
        importlib.import_module("subject_nowhere")
    assert importlib.util.find_spec("subject_nowhere") is None
    assert told == []


def test_a_module_is_imported_when_it_is_complete(modules):
    """While it is executed it does not count as imported."""
    modules(
        "subject_g", "from otel_fastpath.patching import imports as _imports\nseen = _imports.is_imported(__name__)"
    )

    assert not imports.is_imported("subject_g")
    module = importlib.import_module("subject_g")

    assert (module.seen, imports.is_imported("subject_g")) == (False, True)
    sys.modules["subject_g"] = None
    assert not imports.is_imported("subject_g")
    del sys.modules["subject_g"]


def test_the_finder_is_put_in_once(watch):
    """However many watch, sys.meta_path has one entry of ours."""
    for name in ("subject_h", "subject_i"):
        watch(name)

    assert sum(type(finder) is imports._CallbackFinder for finder in sys.meta_path) == 1


def test_wrapt_hooks_on_the_same_module_work_too(modules, watch):
    """Both are told, whoever came first."""
    import wrapt

    modules("subject_j")
    modules("subject_k")
    theirs = []
    wrapt.register_post_import_hook(lambda module: theirs.append(module.__name__), "subject_j")
    ours = watch("subject_j", "subject_k")
    wrapt.register_post_import_hook(lambda module: theirs.append(module.__name__), "subject_k")

    importlib.import_module("subject_j")
    importlib.import_module("subject_k")

    assert ours == theirs == ["subject_j", "subject_k"]


def test_imports_by_several_threads_are_told_once(modules, watch):
    """Each thread gets the complete module, and the watcher one call."""
    modules("subject_l", "import time\ntime.sleep(0.05)\nvalue = 1")
    told = watch("subject_l")
    values = []
    threads = [
        threading.Thread(target=lambda: values.append(importlib.import_module("subject_l").value)) for _ in range(8)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (values, told) == ([1] * 8, ["subject_l"])


class Meanwhile:
    """Calls a function while a module is looked for, after the package's own finder, and does not find it."""

    def __init__(self, name, call, monkeypatch):
        self._waits_for = {name: call}
        others = [finder for finder in sys.meta_path if finder is not imports._finder]
        monkeypatch.setattr(sys, "meta_path", [imports._finder, self, *others])

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002  # the import system's interface
        """Let somebody else find it."""
        self._waits_for.pop(name, int)()


@pytest.mark.parametrize("when", ["looked for", "executed"])
def test_an_import_that_began_before_the_watch_is_told_of_by_the_next_one(modules, watch, monkeypatch, when):
    """Its loader is not wrapped. By then it is complete; the watcher is not called for one that is not."""
    modules("subject_m", "import subject_n\nvalue = 1")
    modules("subject_n")
    modules("subject_o")
    told = []
    begun = "subject_m" if when == "looked for" else "subject_n"

    def note(name):
        told.append(sys.modules[name].value)

    Meanwhile(begun, lambda: watch("subject_m", call=note), monkeypatch)

    importlib.import_module("subject_m")
    assert told == []
    module = importlib.import_module("subject_o")

    assert told == [1]
    assert type(module.__loader__) is type(module.__spec__.loader) is SourceFileLoader
    importlib.reload(sys.modules["subject_m"])
    assert told == [1, 1]


def test_an_import_that_began_before_the_watch_and_fails_is_not_told(modules, watch, monkeypatch):
    """Nobody waits for it any more; the next one is told as ever."""
    file = modules("subject_p", "raise RuntimeError('no')")
    told = []
    Meanwhile("subject_p", lambda: watch("subject_p", call=told.append), monkeypatch)
    with pytest.raises(RuntimeError, match="no"):
        importlib.import_module("subject_p")

    imports.recheck()
    assert (told, imports._finder.missed) == ([], set())
    file.write_text("", encoding="utf-8")
    importlib.invalidate_caches()
    importlib.import_module("subject_p")
    assert told == ["subject_p"]


def test_an_import_that_another_thread_began_before_the_watch_is_told(modules, watch, monkeypatch):
    """Also while it is only looked for."""
    modules("subject_q")
    looked_for, watched = threading.Event(), threading.Event()
    Meanwhile("subject_q", lambda: (looked_for.set(), watched.wait(60)), monkeypatch)
    thread = threading.Thread(target=importlib.import_module, args=("subject_q",))
    thread.start()
    looked_for.wait(60)
    told = watch("subject_q")
    watched.set()
    thread.join(60)

    imports.recheck()
    assert told == ["subject_q"]
