"""Locks that a fork releases, and counts."""

from __future__ import annotations

import dis
import inspect
import itertools
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import otel_fastpath
from otel_fastpath import locks

PACKAGE = Path(otel_fastpath.__file__).parent
# Commands, which hold no locks.
COMMANDS = {PACKAGE / "__main__.py", PACKAGE / "tools"}


def test_a_lock_that_another_thread_of_this_process_holds_stays_locked():
    """In a forked child, a metric reader's thread can hold it before the handlers of the fork have run."""
    lock = locks.Lock()
    is_held, may_release = threading.Event(), threading.Event()
    errors = []

    def hold():
        try:
            with lock:
                is_held.set()
                may_release.wait(30)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    renewal = threading.Thread(target=lock.renew)
    renewal.start()
    may_release.set()
    renewal.join()
    thread.join()

    # A lock that is not held cannot be released.
    assert errors == []


def test_a_lock_is_entered_by_no_function_of_python():
    """A signal handler could raise in one, after the lock is acquired: it would stay so."""
    assert not isinstance(inspect.getattr_static(locks.Lock, "__enter__"), FunctionType)
    assert not isinstance(inspect.getattr_static(locks.Lock, "__exit__"), FunctionType)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_lock_that_a_thread_of_the_parent_holds_is_released_in_a_child():
    """That thread does not exist in the child."""
    lock = locks.Lock()
    is_held, may_release = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            may_release.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(30)
    child = os.fork()
    if not child:
        acquired = threading.Thread(target=lock.__enter__, daemon=True)
        acquired.start()
        acquired.join(30)
        os._exit(acquired.is_alive())
    status = os.waitpid(child, 0)[1]
    may_release.set()
    thread.join()

    assert os.waitstatus_to_exitcode(status) == 0


def codes_in(code):
    """The code of a module and of all its functions."""
    yield code
    for each in code.co_consts:
        if type(each) is CodeType:
            yield from codes_in(each)


def unguarded_jumps(code):
    """The lines at which a signal handler that raises leaves a `with` block whose manager is not told."""
    instructions, entries = list(dis.get_instructions(code)), dis.Bytecode(code).exception_entries
    leaving = {
        first.offset for first, second in itertools.pairwise(instructions) if second.opname == "WITH_EXCEPT_START"
    }

    def handlers_of(offset):
        found = set()
        while offset is not None and offset not in found:
            found.add(offset)
            offset = next((each.target for each in entries if each.start <= offset < each.end), None)
        return found & leaving

    line = code.co_firstlineno
    for each in instructions:
        line = (each.positions and each.positions.lineno) or line
        if each.opname == "JUMP_BACKWARD" and handlers_of(each.argval) - handlers_of(each.offset):
            yield line


@pytest.mark.skipif(sys.version_info < (3, 12), reason="loops are compiled otherwise")
def test_no_signal_leaves_a_lock_locked():
    """CPython's compiler leaves out the handler of a `with` block where a loop in it ends with an `if` that is false.

    Signal handlers run at such a jump; if one raises, a lock would stay locked for ever.
    """
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if not COMMANDS & {path, *path.parents}
        for code in codes_in(compile(path.read_text(encoding="utf-8"), path, "exec"))
        for line in unguarded_jumps(code)
    ]
    assert found == []
