"""Sub-interpreters: one interpreter of a process has the compiled core, all others the pure one, and say why."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("subinterpreters.py")
COUNTS = sys.version_info >= (3, 12)
OWN_LOCK = pytest.mark.skipif(
    sys.version_info < (3, 13),
    reason="OpenTelemetry's metrics import ctypes, which an interpreter with a lock of its own has since Python 3.13",
)


@pytest.fixture
def work():
    """Work in interpreters of these kinds, one after the other; gives what each of them says."""
    if importlib.util.find_spec("otel_fastpath.trace.context.scope_c") is None:
        pytest.skip("the core is not compiled")

    def run(*kinds):
        command = [sys.executable, "-X", "faulthandler", str(PROGRAM), *kinds]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
        said = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(said) == len(kinds)
        for each in said:
            # Whatever the core, nothing is missing.
            assert each["applied"] == "applied"
            assert (each["spans"], each["children"], each["events"], each["counted"]) == (200, 100, 100, 100)
        return said

    return run


def cores(said):
    """The implementations, in order."""
    return [each["implementation"] for each in said]


@OWN_LOCK
def test_an_interpreter_with_a_lock_of_its_own_has_the_pure_core(work):
    """It says why; the main interpreter keeps the compiled one, before and after."""
    said = work("main", "own", "main", "own")

    assert cores(said) == ["c", "py", "c", "py"]
    assert "does not support loading in subinterpreters" in said[1]["why"]
    assert [each["exceptions"] for each in said] == [["applied", True], ["skipped", False]] * 2


@OWN_LOCK
def test_an_interpreter_with_a_lock_of_its_own_can_be_first(work):
    """The main interpreter has the compiled core all the same."""
    assert cores(work("own", "main")) == ["py", "c"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="concurrent.interpreters is new in Python 3.14")
def test_concurrent_interpreters(work):
    """Each has a lock of its own."""
    assert cores(work("concurrent", "main", "concurrent")) == ["py", "c", "py"]


def test_of_interpreters_that_share_a_lock_the_first_has_the_compiled_core(work):
    """As under mod_wsgi: the others have the pure one, and leave the first one's alone."""
    said = work("main", "shared", "main")

    assert cores(said) == ["c", "py", "c"]
    assert "one interpreter per process" in said[1]["why"]
    if COUNTS:
        assert [each["exceptions"] for each in said] == [["applied", True], ["skipped", False], ["applied", True]]


def test_an_interpreter_that_has_ended_was_the_first_all_the_same(work):
    """The compiled core is not loaded again."""
    assert cores(work("shared", "main", "shared")) == ["c", "py", "py"]
