"""The counters in the life of a process: forks, its end, sub-interpreters."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

PRELUDE = """
import os, sys, threading, time
from otel_fastpath import exceptions

def fail(kind=ValueError):
    try:
        raise kind
    except kind:
        pass

def raised():
    return {count.type: count.raised for count in exceptions.snapshot()}
"""


@pytest.fixture
def run(run_python):
    """Run a program that has these functions."""
    return lambda program, **more: run_python(PRELUDE + program, "-W", "error", **more)


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="forks")
def test_a_child_begins_at_zero(run):
    """A forked child goes on counting, and counts its own."""
    found = run("""
exceptions.start(exceptions.Settings(mode="handled"))
fail()
if os.fork() == 0:
    fail(KeyError)
    print(raised(), flush=True)
    os._exit(0)
os.wait()
fail()
print(raised())
""")
    assert found.splitlines() == ["{'KeyError': 1}", "{'ValueError': 2}"]


@pytest.mark.skipif(not hasattr(sys.modules["os"], "fork"), reason="forks")
def test_a_child_can_stop_and_start(run):
    """The child of a process whose other thread held the lock can still stop and start."""
    found = run("""
import warnings
warnings.simplefilter("ignore")
from otel_fastpath.exceptions import monitor
exceptions.start(exceptions.Settings())
ready, done = threading.Event(), threading.Event()
def hold():
    with monitor.state.lock:
        ready.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
ready.wait()
if os.fork() == 0:
    exceptions.stop()
    exceptions.start(exceptions.Settings())
    fail(KeyError)
    print(raised(), flush=True)
    os._exit(0)
os.wait()
done.set()
thread.join()
""")
    assert found == "{'KeyError': 1}"


def test_the_end_of_the_interpreter_is_quiet(run):
    """Daemon threads that raise, exit handlers, late finalizers: nothing fails while all is torn down."""
    done = run(
        """
import atexit
exceptions.start(exceptions.Settings(mode="handled", code=True, operations=True))
def work():
    while True:
        fail(type("Made", (Exception,), {}))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
class Late:
    def __del__(self):
        try:
            raise LookupError
        except LookupError:
            pass
late = Late()
late.itself = late
sys.late = Late()
atexit.register(fail)
time.sleep(0.1)
""",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_an_exit_with_an_error_is_as_before(run):
    """The traceback of the exception that ends the program, and its exit status, stay."""
    program = """
def outer():
    inner()
def inner():
    raise SystemError("the end")
"""
    with_counters = run(program + "exceptions.start(exceptions.Settings(mode='handled'))\nouter()", check=False)
    without = run(program + "\nouter()", check=False)
    assert (with_counters.returncode, with_counters.stderr) == (without.returncode, without.stderr)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="_interpreters is new in 3.13")
def test_a_sub_interpreter_is_refused(run):
    """The compiled callback counts the main interpreter, and says so where it is imported in another."""
    found = run("""
import _interpreters
exceptions.start(exceptions.Settings())
other = _interpreters.create()
result = _interpreters.exec(other, "import otel_fastpath.exceptions.callbacks_c")
print("does not support loading in subinterpreters" in str(result and result.msg))
_interpreters.exec(other, "try: raise ValueError\\nexcept ValueError: pass")
_interpreters.destroy(other)
fail()
print(raised().get("ValueError"))
""")
    assert found.splitlines() == ["True", "1"]


def test_the_limit_is_of_types(run):
    """So many types have a name of their own; the others are counted together."""
    found = run("""
exceptions.start(exceptions.Settings(limit=2))
for kind in (KeyError, ValueError, IndexError, OSError, KeyError):
    fail(kind)
print(raised())
exceptions.start(exceptions.Settings(limit=3))
fail(OSError)
fail(IndexError)
print(raised())
""")
    assert found.splitlines() == [
        "{'KeyError': 2, '_OTHER': 2, 'ValueError': 1}",
        "{'_OTHER': 3, 'KeyError': 2, 'OSError': 1, 'ValueError': 1}",
    ]


def test_importing_it_imports_no_sdk(run):
    """Counting needs OpenTelemetry's API, nothing else of it, and none of the libraries that fail."""
    found = run("""
exceptions.start(exceptions.Settings(mode="handled", code=True))
print([name for name in sys.modules if name.startswith(("opentelemetry.sdk", "asyncio", "asyncpg", "fastapi"))])
""")
    assert found == "[]"
