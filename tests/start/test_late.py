"""An instrumentation waits for its library, is loaded once, and fails as it would have failed at the start."""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint

import pytest
from newer_releases import needs
from opentelemetry.instrumentation.dependencies import DependencyConflict, DependencyConflictError
from opentelemetry.instrumentation.distro import BaseDistro, DefaultDistro

from otel_fastpath.patching import imports
from otel_fastpath.start import late, libraries

INSTRUMENTATION = """
import subject_library
from subject_library import parts

class Instrumentor:
    is_done = 0

    def instrument(self, **kwargs):
        Instrumentor.is_done += 1
        parts.function = lambda: ["instrumented", kwargs]
"""
LOGGER = "opentelemetry.instrumentation.auto_instrumentation._load"


@pytest.fixture
def subject(modules):
    """A library, and an instrumentation of it that imports it."""
    modules("subject_library.parts", "def function():\n    return ['stock']\n")
    modules("subject_library", "")
    modules("subject_instrumentation", INSTRUMENTATION)
    return modules


@pytest.fixture
def distribution(monkeypatch):
    """A distribution whose instrumentations wait, as after `begin`."""
    monkeypatch.setattr(libraries, "awaited", lambda _entry_point: ("subject_library",))
    late.begin()
    yield DefaultDistro()
    late.end()
    for calls in (imports._finder.after, imports._finder.below):
        for name in [name for name in calls if name.startswith("subject_")]:
            del calls[name]


@pytest.fixture
def entry_point():
    """The instrumentation's."""
    return EntryPoint("subject", "subject_instrumentation:Instrumentor", "opentelemetry_instrumentor")


def load(distribution, entry_point):
    """What stock does for each instrumentation."""
    distribution.load_instrumentor(entry_point, skip_dep_check=True)


def call():
    """What the library's function returns to a program that imports it now."""
    return importlib.import_module("subject_library.parts").function()


@pytest.mark.usefixtures("subject")
def test_it_is_loaded_when_its_library_is_imported(distribution, entry_point):
    """With the arguments that it was to be loaded with; before that nothing is imported."""
    load(distribution, entry_point)
    assert not {"subject_library", "subject_instrumentation"} & set(sys.modules)

    assert call() == ["instrumented", {"skip_dep_check": True}]


@pytest.mark.usefixtures("subject")
def test_a_library_that_is_there_is_instrumented_at_once(distribution, entry_point):
    """As without this package."""
    importlib.import_module("subject_library")
    load(distribution, entry_point)

    assert "subject_instrumentation" in sys.modules
    assert call()[0] == "instrumented"


@pytest.mark.usefixtures("subject")
def test_it_is_loaded_once(distribution, entry_point):
    """A reload of the library, or an import of it anew, undoes what was patched, as it does at the start."""
    load(distribution, entry_point)
    call()
    importlib.reload(sys.modules["subject_library.parts"])
    assert call() == ["stock"]
    del sys.modules["subject_library"], sys.modules["subject_library.parts"]
    assert call() == ["stock"]
    assert sys.modules["subject_instrumentation"].Instrumentor.is_done == 1


@pytest.mark.usefixtures("subject")
def test_a_program_may_import_the_instrumentation(distribution, entry_point):
    """It is complete and has instrumented the library, as it has if it was loaded at the start."""
    load(distribution, entry_point)
    module = importlib.import_module("subject_instrumentation")

    assert module.Instrumentor.is_done == 1
    assert call()[0] == "instrumented"


@pytest.mark.usefixtures("subject")
def test_two_instrumentations_of_a_library_are_loaded_in_their_order(distribution, entry_point, subject):
    """That of their entry points."""
    subject("subject_second", INSTRUMENTATION.replace('"instrumented"', '"second"'))
    second = EntryPoint("second", "subject_second:Instrumentor", "opentelemetry_instrumentor")
    load(distribution, entry_point)
    load(distribution, second)
    importlib.import_module("subject_library")

    assert call()[0] == "second"
    assert [sys.modules[name].Instrumentor.is_done for name in ("subject_instrumentation", "subject_second")] == [1, 1]


def test_a_library_that_cannot_be_imported_is_the_programs_matter(distribution, entry_point, subject):
    """Its exception is raised; when it can be imported, it is instrumented."""
    subject("subject_library", "raise ImportError('no')")
    load(distribution, entry_point)
    with pytest.raises(ImportError, match="no"):
        call()
    subject("subject_library", "")

    assert call()[0] == "instrumented"


@pytest.mark.parametrize(
    ("line", "level", "message"),
    [
        ("import no_such_module", logging.DEBUG, "Skipping instrumentation subject: No module named 'no_such_module'"),
        ("from os import nothing", logging.ERROR, "Importing of subject failed, skipping it"),
        ("1 / 0", logging.ERROR, "Instrumenting of subject failed"),
    ],
)
def test_a_failure_is_reported_as_at_the_start(distribution, entry_point, subject, caplog, line, level, message):
    """By the same logger, with the same message; the program's import succeeds."""
    caplog.set_level(logging.DEBUG, logger=LOGGER)
    subject("subject_instrumentation", line)
    load(distribution, entry_point)

    assert call() == ["stock"]
    (record,) = [record for record in caplog.records if record.name == LOGGER]
    assert (record.levelno, record.getMessage()) == (level, message)
    assert (record.exc_info is not None) == (level == logging.ERROR)


def conflicting(distribution):
    """The library is imported, and the instrumentation itself finds this conflict."""
    conflict = DependencyConflict("subject>=2", "subject 1")

    class Conflicting(EntryPoint):
        def load(self):
            raise DependencyConflictError(conflict)

    load(distribution, Conflicting("subject", "subject_instrumentation:Instrumentor", ""))

    assert call() == ["stock"]
    return conflict


@needs("opentelemetry-instrumentation", "0.66b0", "the first that reports it to all")
@pytest.mark.usefixtures("subject")
def test_a_conflict_is_reported_as_at_the_start(distribution, caplog):
    """By the conflict itself."""
    conflict = conflicting(distribution)

    (record,) = [record for record in caplog.records if record.name == LOGGER]
    assert (record.levelno, record.getMessage()) == (logging.ERROR, conflict._format_message("subject"))


@pytest.mark.usefixtures("subject")
def test_a_conflict_is_reported_as_by_older_releases(distribution, caplog, monkeypatch):
    """Those before 0.66b0 report it to who debugs."""
    caplog.set_level(logging.DEBUG, logger=LOGGER)
    monkeypatch.delattr(DependencyConflict, "_log", raising=False)
    conflict = conflicting(distribution)

    (record,) = [record for record in caplog.records if record.name == LOGGER]
    assert (record.levelno, record.getMessage()) == (logging.DEBUG, f"Skipping instrumentation subject: {conflict}")


@pytest.mark.usefixtures("subject")
def test_a_distribution_with_a_method_of_its_own_decides_itself(distribution, entry_point):
    """Also if that calls OpenTelemetry's."""

    class Own(type(distribution)):
        _instance = None

        def load_instrumentor(self, entry_point, **kwargs):
            super().load_instrumentor(entry_point, **kwargs)

    load(Own(), entry_point)

    assert "subject_instrumentation" in sys.modules


@pytest.mark.usefixtures("subject")
def test_at_the_end_the_method_is_the_original(distribution, entry_point):
    """What waits still waits; what is loaded afterwards is loaded at once."""
    replaced = BaseDistro.load_instrumentor
    load(distribution, entry_point)
    late.end()

    assert BaseDistro.load_instrumentor is replaced.__wrapped__
    assert "subject_instrumentation" not in sys.modules
    assert call()[0] == "instrumented"
    load(distribution, entry_point)
    assert sys.modules["subject_instrumentation"].Instrumentor.is_done == 2


@pytest.mark.usefixtures("subject")
def test_threads_that_import_at_the_same_time_get_the_instrumented_library(distribution, entry_point):
    """The instrumentation is loaded once, before the import of any of them returns."""
    load(distribution, entry_point)
    barrier, found = threading.Barrier(4), []

    def work():
        barrier.wait()
        importlib.import_module("subject_library")
        found.append(call()[0])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == ["instrumented"] * 4
    assert sys.modules["subject_instrumentation"].Instrumentor.is_done == 1


@pytest.mark.usefixtures("subject")
def test_a_thread_that_holds_a_module_of_the_library_is_no_obstacle(distribution, entry_point, monkeypatch):
    """Another thread waits for the library, to import a module in it that the instrumentation imports.

    Python refuses to let the two wait for each other. The instrumentation is loaded with the next module of the
    library, and both threads have the instrumented one.
    """
    load(distribution, entry_point)
    found, is_found, other_began = [], threading.Event(), threading.Event()

    def create_module(_loader, spec):
        # The library is locked, and not in sys.modules yet. The other thread begins.
        if spec.name == "subject_library":
            is_found.set()
            other_began.wait(10)

    monkeypatch.setattr(SourceFileLoader, "create_module", create_module)

    def other():
        is_found.wait(10)
        # Long enough for the thread to wait for the library's lock.
        threading.Timer(0.2, other_began.set).start()
        found.append(importlib.import_module("subject_library.parts").function()[0])

    thread = threading.Thread(target=other)
    thread.start()
    importlib.import_module("subject_library")
    thread.join()

    assert (found, call()[0]) == (["instrumented"], "instrumented")
    assert sys.modules["subject_instrumentation"].Instrumentor.is_done == 1
    assert "subject_library" not in imports._finder.below


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.usefixtures("subject")
@pytest.mark.parametrize("is_loaded_before", [True, False])
def test_a_forked_child_has_the_instrumented_library(distribution, entry_point, is_loaded_before):
    """Whether the parent has imported it, as gunicorn with `--preload`, or the child does."""
    load(distribution, entry_point)
    if is_loaded_before:
        call()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, call()[0].encode())
        os._exit(0)
    os.waitpid(child, 0)

    assert os.read(reading, 100) == b"instrumented"


@pytest.mark.usefixtures("subject")
def test_an_interrupt_ends_the_import_and_the_next_one_loads_it(distribution, entry_point, subject):
    """A signal handler's exception is the importer's."""
    subject("subject_instrumentation", "raise KeyboardInterrupt")
    load(distribution, entry_point)
    with pytest.raises(KeyboardInterrupt):
        call()
    subject("subject_instrumentation", INSTRUMENTATION)

    assert call()[0] == "instrumented"
