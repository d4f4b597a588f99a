"""A part of the package is loaded when a library that it is for is imported, and behaves as if it had always been."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import threading

import pytest

from otel_fastpath.features import FEATURES, LIBRARIES
from otel_fastpath.patching import declarations, imports
from otel_fastpath.patching.declarations import Declarations, LateInstallation, Patches
from otel_fastpath.patching.patch import Patch, Patcher, State

DECLARES = """
import functools
from otel_fastpath.patching.patch import Patch

def make(original, settings):
    @functools.wraps(original)
    def function():
        return [settings, *original()]
    return function

PATCHES = (Patch("one", "subject_library.inside:function", "A test.", make),)
"""
INSIDE = "def function():\n    return ['stock']\n"
# Whoever imports the name from the package gets what the module in it has by then.
OUTSIDE = "from subject_library.inside import function\n"


class World:
    """A part for `subject_library`, declared in a module of its own."""

    def __init__(self, modules, monkeypatch):
        modules("declares.part", DECLARES)
        modules("subject_library.inside", INSIDE)
        modules("subject_library", OUTSIDE)
        modules("subject_rival")
        monkeypatch.setattr(declarations, "PACKAGE", "declares")
        self.part = Declarations("part", "subject_library", "subject_rival")
        self.waiting = LateInstallation(self.part, lambda patches: Patches(Patcher(patches, lambda _name: [])))

    def install(self, settings="ours", **how):
        """Install the part."""
        self.waiting.install(settings, lambda _name: None, {}, **how)

    def call(self):
        """What the library's function returns, as the importer of the package sees it."""
        return importlib.import_module("subject_library").function()


@pytest.fixture
def world(modules, monkeypatch):
    """See `World`; nothing waits after the test."""
    made = World(modules, monkeypatch)
    yield made
    made.waiting.uninstall()


def test_it_is_not_loaded_while_nothing_needs_it(world):
    """Not even its module is imported."""
    world.install()

    assert "declares.part" not in sys.modules
    assert not world.part.is_loaded()
    assert world.waiting.status(loads=False) == []


def test_it_is_loaded_before_the_library_is_executed(world):
    """A name that the library's package binds while it is executed is the patched one."""
    world.install()

    assert world.call() == ["ours", "stock"]
    assert [row.state for row in world.waiting.status()] == [State.APPLIED]


def test_it_is_loaded_at_once_if_the_library_is_there(world):
    """As one that was imported before `instrument()`."""
    library = importlib.import_module("subject_library.inside")
    world.install()

    assert library.function() == ["ours", "stock"]


@pytest.mark.parametrize("name", ["no_such_library", "subject_library"])
def test_a_library_that_is_absent_loads_nothing(world, name):
    """Programs try to import what is not installed."""
    world.part.modules = ("no_such_library",)
    world.install()
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        assert name == "no_such_library"

    assert "declares.part" not in sys.modules


def test_any_of_its_modules_loads_it(world):
    """The library's instrumentation, for example."""
    world.install()
    importlib.import_module("subject_rival")

    assert world.part.is_loaded()
    assert [row.state for row in world.waiting.status()] == [State.WAITING]
    assert world.call() == ["ours", "stock"]


def test_it_is_loaded_if_it_is_asked_for(world):
    """By the settings."""
    world.install(is_asked_for=True)

    assert world.part.is_loaded()
    assert world.call() == ["ours", "stock"]


def test_the_status_loads_it(world):
    """All patches are listed; those of a library that is imported later are applied all the same."""
    world.install()

    assert [(row.name, row.state) for row in world.waiting.status()] == [("one", State.WAITING)]
    assert world.call() == ["ours", "stock"]


def test_the_status_of_what_is_not_installed_is_off(world):
    """Before and after."""
    assert [row.reason for row in world.waiting.status()] == ["not instrumented"]
    world.install()
    world.waiting.uninstall()
    assert [row.reason for row in world.waiting.status()] == ["uninstrumented"]
    assert world.call() == ["stock"]


def test_uninstalled_it_waits_no_longer(world):
    """And what was applied is taken off."""
    world.install()
    world.waiting.uninstall()
    assert world.call() == ["stock"]
    assert not world.part.is_loaded()

    world.install()
    inside = sys.modules["subject_library.inside"]
    assert inside.function() == ["ours", "stock"]
    world.waiting.uninstall()
    assert inside.function() == ["stock"]


def test_installed_again_it_has_the_new_settings(world):
    """Those of the last call."""
    world.install("first")
    world.call()
    world.waiting.uninstall()
    world.install("second")

    assert sys.modules["subject_library.inside"].function() == ["second", "stock"]


def test_a_library_that_is_reloaded_is_patched_again(world):
    """As without parts."""
    world.install()
    world.call()
    inside = importlib.reload(sys.modules["subject_library.inside"])

    assert inside.function() == ["ours", "stock"]


def test_a_part_that_cannot_be_loaded_is_one_line(world, modules, logged):
    """The library works."""
    modules("declares.part", "1 / 0")
    world.install()

    assert world.call() == ["stock"]
    (line,) = logged()
    assert line == "Failed to load part; its libraries run without otel-fastpath."


def test_an_interrupt_ends_the_import_and_the_next_one_loads_it(world, modules):
    """A signal handler's exception is the importer's."""
    modules("declares.part", "raise KeyboardInterrupt")
    world.install()
    with pytest.raises(KeyboardInterrupt):
        world.call()
    modules("declares.part", DECLARES)

    assert world.call() == ["ours", "stock"]


def test_threads_load_it_once(world):
    """Each thread that imports the library has the patched one."""
    world.install()
    barrier, found = threading.Barrier(4), []

    def work():
        barrier.wait()
        found.append(world.call())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [["ours", "stock"]] * 4


def test_uninstalled_while_it_is_loaded_it_is_not_installed(world):
    """By another thread."""
    make = world.waiting._make

    def slowly(patches):
        world.waiting.uninstall()
        return make(patches)

    world.waiting._make = slowly
    world.install()

    assert world.call() == ["stock"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_loads_it_itself(world):
    """What waits in the parent waits in the child."""
    world.install()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(world.call()).encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(reading, 100) == b"['ours', 'stock']"
    assert not world.part.is_loaded()


def test_what_an_import_hook_sees_is_executed(modules):
    """The library's code has run, though Python says that it is being imported."""
    modules(
        "subject_other",
        "import sys\nfrom otel_fastpath.patching import imports\n"
        "seen = imports.is_executed('subject_other'), imports.in_hook()",
    )
    seen = []

    def look(name):
        seen.append((name, imports.is_executed(name), imports.is_imported(name), imports.in_hook()))

    imports.watch(["subject_other"], look)
    try:
        other = importlib.import_module("subject_other")
    finally:
        imports.unwatch(["subject_other"], look)

    assert other.seen == (False, False)
    assert seen == [("subject_other", True, False, True)]
    assert imports.is_executed("subject_other")
    assert not imports.is_executed("no_such_module")
    assert not imports.in_hook()


ALL = [(feature, part) for feature in FEATURES for part in (*feature.parts, *feature.own_parts)]


@pytest.mark.parametrize(("feature", "part"), ALL, ids=[part.place for _, part in ALL])
def test_the_modules_of_a_part_are_those_that_its_patches_are_for(feature, part):
    """No import of one of them happens without the part: each is one of the part's modules, or in one of them."""
    targets = {patch.module for patch in part.patches()}
    if part.wrapper:
        targets |= {rival.target.partition(":")[0] for rival in part.load().rivals}
    if part in feature.own_parts:
        return  # loaded when exceptions are counted

    assert {name for name in targets if not f"{name}.".startswith(tuple(f"{each}." for each in part.modules))} == set()
    assert all(any(f"{name}.".startswith(f"{each}.") for name in targets) for each in part.modules)


def test_what_a_process_does_not_use_is_not_imported():
    """Without libraries and exporters, no module of the features that are for them is there."""
    program = """
import sys
import opentelemetry.sdk.trace
from otel_fastpath import FastpathInstrumentor
FastpathInstrumentor().instrument()
ours = sorted(name for name in sys.modules if name.startswith("otel_fastpath."))
print(*ours, sep="\\n")
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = result.stdout.splitlines()

    for feature in {each.name for each in FEATURES} & {"otlp", "exceptions", "metrics", "logs"}:
        in_feature = [name for name in loaded if name.startswith(f"otel_fastpath.{feature}")]
        assert in_feature == [f"otel_fastpath.{feature}", f"otel_fastpath.{feature}.register"], feature
    of_libraries = [name for name in loaded if re.match(r"otel_fastpath\.(db|genai|http|tools|wrapping)\b", name)]
    assert of_libraries == ["otel_fastpath.wrapping", "otel_fastpath.wrapping.wrappers"]
    assert "otel_fastpath.trace.patches_tracer" in loaded


def test_patches_are_declared_once():
    """A part is no other feature's, and its name says what it declares."""
    assert len({part.place for _, part in ALL}) == len(ALL)
    libraries = ("cloud", "db", "genai", "http", "messaging", "rpc", "wrapping")
    for feature, part in ALL:
        folders = libraries if feature is LIBRARIES else (feature.name,)
        assert part.place.partition(".")[0] in folders
        assert all(isinstance(patch, Patch) for patch in part.patches())


def test_it_is_loaded_while_its_library_is_looked_for(world, monkeypatch):
    """Another finder may install it, after ours was asked: nothing is announced to it then."""

    class Installs:
        def find_spec(self, name, path=None, target=None):  # noqa: ARG002  # the import system's interface
            if name == "subject_library" and not world.part.is_loaded():
                world.install()

    others = [finder for finder in sys.meta_path if finder is not imports._finder]
    monkeypatch.setattr(sys, "meta_path", [imports._finder, Installs(), *others])
    assert world.call() == ["ours", "stock"]
