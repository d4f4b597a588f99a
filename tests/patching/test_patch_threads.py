"""Patches and imports by several threads: nobody waits for ever, nobody's import fails, everything ends up in place."""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from otel_fastpath.patching.patch import Patch, Patcher, State, fingerprint


def run(*calls):
    """Call all of them at once; their results or exceptions. Nobody may take longer than a minute."""
    results = [None] * len(calls)
    barrier = threading.Barrier(len(calls))

    def work(number):
        barrier.wait()
        try:
            results[number] = calls[number]()
        except BaseException as error:  # the test looks at it
            results[number] = error

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    return results


def louder(original, _settings):
    """A replacement that adds an exclamation mark."""
    return functools.wraps(original)(lambda *args: original(*args) + "!")


def patcher_of(*targets, make=louder, **fields):
    """A patcher of these targets."""
    patches = [Patch(name=target, target=target, why="", make=make, **fields) for target in targets]
    return Patcher(patches, lambda _: [])


@pytest.fixture
def slow(modules):
    """A module whose execution takes a while."""
    modules("slow", "import time\ntime.sleep(0.1)\ndef function(): return 'plain'\ntime.sleep(0.1)")


@pytest.mark.usefixtures("slow")
def test_many_threads_import_the_target():
    """Each sees the patched module, and the original is wrapped once."""
    patcher = patcher_of("slow:function")
    patcher.install()

    results = run(*[lambda: importlib.import_module("slow").function()] * 8)

    assert results == ["plain!"] * 8
    patcher.uninstall()
    assert sys.modules["slow"].function() == "plain"


@pytest.mark.usefixtures("slow")
def test_installed_while_another_thread_imports_the_target():
    """An import that began before anybody watched is waited for, and then patched."""
    patcher = patcher_of("slow:function")
    importing = threading.Event()

    def install():
        importing.wait()
        while "slow" not in sys.modules:
            pass
        patcher.install()

    def load():
        importing.set()
        importlib.import_module("slow")

    assert run(install, load) == [None, None]
    assert patcher.status()[0].state is State.APPLIED
    patcher.uninstall()


def test_installed_by_many_threads(modules):
    """The original is wrapped once, and comes back."""
    modules("subject", "def function(): return 'plain'")
    subject = importlib.import_module("subject")
    original = subject.function
    patcher = patcher_of("subject:function")

    run(*[patcher.install] * 8)
    assert subject.function() == "plain!"
    run(*[patcher.uninstall] * 8)

    assert subject.function is original


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_while_another_thread_applies_the_patch(modules):
    """That thread is not in the child, which applies it itself."""
    modules("subject", "def function(): return 'plain'")
    subject = importlib.import_module("subject")
    begun, forked = threading.Event(), threading.Event()

    def slowly(original, settings):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            forked.wait(60)
        return louder(original, settings)

    patcher = patcher_of("subject:function", make=slowly)
    thread = threading.Thread(target=patcher.install)
    thread.start()
    begun.wait(60)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        patcher.install()
        os.write(writing, subject.function().encode())
        os._exit(0)
    forked.set()
    os.waitpid(child, 0)
    thread.join(60)
    patcher.uninstall()

    assert os.read(reading, 100) == b"plain!"


def test_on_and_off_by_turns_while_others_call(modules):
    """Whoever calls meanwhile gets the original's result or the replacement's, never anything else."""
    modules("subject", "def function(one, *, two=2): return f'{one}{two}'")
    subject = importlib.import_module("subject")
    original = subject.function

    def make(function, _settings):
        mark = "!"

        def replacement(one, *, two=2):
            return function(one, two=two) + mark

        return replacement

    patcher = patcher_of("subject:function", make=make)
    done = threading.Event()
    seen = set()

    def toggle():
        for _ in range(300):
            patcher.install()
            patcher.uninstall()
        done.set()

    def call():
        kept = subject.function
        while not done.is_set():
            seen.update((kept(1, two=3), subject.function(1, two=3)))
            kept = subject.function

    assert run(toggle, call, call) == [None] * 3
    assert seen <= {"13", "13!"}
    assert subject.function is original


class SlowFinder:
    """Takes its time for one module, and does not find it."""

    def __init__(self, name):
        self.name = name
        self.is_asked = threading.Event()

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002  # the import system's interface
        """Let somebody else find it."""
        if name == self.name:
            self.is_asked.set()
            time.sleep(0.1)


def test_an_import_in_a_hook_does_not_meet_one_that_waits_for_the_package(modules, monkeypatch):
    """A package is patched by what its module says, while another thread imports that module first: no deadlock.

    The other thread has the module's import lock and waits for the package's. To import the module from the package's
    hook would be answered with an exception.
    """
    modules("parent.child", "import parent\ndef function(): return 1")
    modules("parent", "def function(): return 'plain'")
    importlib.import_module("parent.child")
    known = {
        f"{name}:function": frozenset({fingerprint(sys.modules[name].function)}) for name in ("parent", "parent.child")
    }
    for name in ("parent.child", "parent"):
        del sys.modules[name]
    slow = SlowFinder("parent")
    monkeypatch.setattr(sys, "meta_path", [slow, *sys.meta_path])
    patcher = patcher_of("parent:function", sources=known)
    patcher.install()

    def import_child():
        slow.is_asked.wait()
        return importlib.import_module("parent.child").function()

    assert run(lambda: importlib.import_module("parent").__name__, import_child) == ["parent", 1]
    assert patcher.status()[0].state is State.APPLIED, patcher.status()
    assert sys.modules["parent"].function() == "plain!"
    patcher.uninstall()


def test_a_patch_waits_for_all_its_modules_where_there_are_threads(modules):
    """With another thread alive nothing is imported inside an import; the status names what is awaited."""
    modules("first", "def function(): return 'plain'")
    modules("second", "def function(): return 1")
    second = importlib.import_module("second")
    known = {"second:function": frozenset({fingerprint(second.function)})}
    del sys.modules["second"]
    patcher = patcher_of("first:function", sources=known)
    patcher.install()
    states = []

    def work():
        importlib.import_module("first")
        states.append(patcher.status()[0])
        importlib.import_module("second")
        states.append(patcher.status()[0])

    run(work)

    assert [row.state for row in states] == [State.WAITING, State.APPLIED]
    assert states[0].reason == "second is not imported yet"
    patcher.uninstall()


def test_a_patch_imports_what_it_looks_at_where_there_is_one_thread(modules):
    """A process with one thread has nobody to wait for: the patch is there after the first import."""
    modules("first", "def function(): return 'plain'")
    folder = modules("second", "def function(): return 1").parent
    program = """
        import sys
        from otel_fastpath.patching.patch import Patch, Patcher, fingerprint
        import second
        known = {"second:function": frozenset({fingerprint(second.function)})}
        del sys.modules["second"]
        patcher = Patcher([Patch("one", "first:function", "", lambda o, _: lambda: o() + "!", sources=known)], None)
        patcher.install()
        import first
        print(first.function())
        """

    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=folder, capture_output=True, text=True, check=True
    )

    assert result.stdout == "plain!\n"


def test_a_package_whose_own_import_loads_the_target(modules):
    """A source in a package that is still being executed is waited for, not read half done."""
    modules("package.target", "def function(): return 'plain'")
    modules("package", "from package import target\ndef late(): return 1")
    package = importlib.import_module("package")
    known = {"package:late": frozenset({fingerprint(package.late)})}
    for name in ("package", "package.target"):
        del sys.modules[name]
    patcher = patcher_of("package.target:function", sources=known)
    patcher.install()

    assert importlib.import_module("package.target").function() == "plain!"
    patcher.uninstall()
