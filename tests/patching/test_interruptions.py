"""What arrives between two instructions is told apart from a fault of ours, whoever sends it."""

from __future__ import annotations

import ctypes
import functools
import signal
import sys
import threading
import time

import pytest

from otel_fastpath.patching import faults


class Limit(Exception):  # noqa: N818  # as the host calls it
    """The host's."""


def ours(text):
    """A function of this package, made of this source."""
    namespace = {"__name__": "otel_fastpath.made", "time": time, "faults": faults}
    exec(text, namespace)  # noqa: S102  # the module that a function is of is told by its globals
    return namespace["run"]


# Guarded code that goes on until something arrives, or for some seconds.
WAITING = ours(
    """
def run(seconds=5, absorb=faults.absorb_any):
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            str(1)
    except BaseException as error:
        absorb("test", error)
    return "over"
"""
)


class Handler:
    """One whose method is the handler."""

    def raising(self, _number, _frame):
        """The handler."""
        raise Limit


class Callable:
    """One that is the handler, and keeps nothing."""

    def __call__(self, _number, frame):
        """The handler."""
        del frame
        raise Limit("of my own")


class Titled(Limit):
    """As RQ's: its class is sent, and makes its own arguments."""

    def __init__(self):
        super().__init__("Task exceeded maximum timeout value (180 seconds)")


def plain(_number, _frame):
    """A handler."""
    raise Limit


def forgetful(_number, frame):
    """A handler that keeps nothing."""
    del frame
    raise Limit("of my own")


def any_arguments(*_given):
    """A handler."""
    raise Limit


def deeper(_number, _frame):
    """A handler that calls another function."""
    plain(1, None)


HANDLERS = {
    "function": plain,
    "without its frame": forgetful,
    "any arguments": any_arguments,
    "deeper": deeper,
    "method": Handler().raising,
    "object": Callable(),
    "partial": functools.partial(plain),
    "lambda": lambda *_: (_ for _ in ()).throw(Limit),
}


@pytest.fixture
def alarm():
    """`alarm(handler)`: it is called in a moment."""
    before = signal.getsignal(signal.SIGALRM)

    def arm(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.01)

    yield arm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("absorb", [faults.absorb, faults.absorb_any])
@pytest.mark.parametrize("handler", HANDLERS)
def test_a_signal_handlers_exception_reaches_the_host(alarm, no_faults, handler, absorb):
    """Whatever the handler is."""
    alarm(HANDLERS[handler])
    with pytest.raises(Limit):
        WAITING(absorb=absorb)
    assert no_faults.counts() == {}


def test_a_handler_of_the_standard_librarys_reaches_the_host(alarm, no_faults):
    """Such as the one of `bdb`, whose exception is an `Exception`, too."""
    namespace = {"__name__": "bdb", "Limit": Limit}
    exec("def handler(number, frame): raise Limit", namespace)  # noqa: S102  # as above
    alarm(namespace["handler"])
    with pytest.raises(Limit):
        WAITING()
    assert no_faults.counts() == {}


@pytest.mark.parametrize("kind", [Limit, Titled])
def test_an_exception_set_in_a_thread_reaches_it(no_faults, kind):
    """By `PyThreadState_SetAsyncExc`."""
    found = []

    def host():
        try:
            found.append(WAITING(seconds=30))
        except Limit as error:
            found.append(error)

    thread = threading.Thread(target=host)
    thread.start()
    while thread.is_alive() and not found:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(kind))
        thread.join(0.05)
    assert isinstance(found[0], kind)
    assert no_faults.counts() == {}


def test_a_tracing_functions_exception_reaches_the_host(no_faults):
    """Of a debugger that quits, for example."""

    def trace(frame, event, _argument):
        if frame.f_code is WAITING.__code__ and event == "line":
            raise Limit
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(Limit):
            WAITING()
    finally:
        sys.settrace(before)
    assert no_faults.counts() == {}


def test_what_is_thrown_into_a_greenlet_reaches_it(no_faults):
    """While code that ours called waits in it."""
    waiting = ours(
        """
def run(switch):
    try:
        switch()
    except BaseException as error:
        faults.absorb("test", error)
    return "over"
"""
    )
    greenlets = pytest.importorskip("greenlet")
    made = greenlets.greenlet(waiting)
    made.switch(lambda: greenlets.getcurrent().parent.switch())  # noqa: PLW0108  # a frame of the application's
    with pytest.raises(Limit):
        made.throw(Limit)
    assert no_faults.counts() == {}


FAULTS = (
    "raise ValueError('x')",
    "raise KeyError",
    "raise TimeoutError",
    "int('x')",
    "[][1]",
    "next(iter(()))",
    "assert False",
    "import queue; queue.Queue().get_nowait()",
)


def test_the_error_of_a_function_of_c_is_no_interruption():
    """Such as psycopg2's of a closed connection: no frame tells of a function of C."""
    kind = pytest.importorskip("psycopg2").InterfaceError
    # What has no frame of its own: the throw of a generator of ours.
    text = """
def wait():
    yield
def run(error, absorb=faults.absorb_any):
    try:
        wait().throw(error)
    except Exception as found:
        absorb("test", found)
"""
    ours(text)(kind("connection already closed"))
    with pytest.raises(Titled):
        ours(text)(Titled())


@pytest.mark.parametrize("statement", FAULTS)
def test_a_fault_of_ours_is_none(no_faults, statement):
    """It is counted and goes no further, with arguments and without."""
    text = f"def run():\n try:\n  {statement}\n except Exception as error:\n  faults.absorb_any('test', error)\n"
    ours(text)()
    assert no_faults.counts() == {"test": 1}
