"""The API's functions and what applications do the day after: threads, forks, time limits, what is let go."""

from __future__ import annotations

import gc
import os
import signal
import threading
import weakref

import pytest
from api_functions import NAMES, use
from interrupting import Limit
from opentelemetry import context as context_api
from opentelemetry import trace


def test_nothing_is_kept(ours):
    """Of spans, contexts and baggage."""

    class Own(trace.NonRecordingSpan):
        pass

    class Entry:
        pass

    span, entry = Own(trace.INVALID_SPAN_CONTEXT), Entry()
    alive = [weakref.ref(span), weakref.ref(entry)]
    token = ours["context.attach"](ours["baggage.set_baggage"]("a", entry, ours["trace.set_span_in_context"](span)))
    assert ours["trace.get_current_span"]() is span
    assert ours["baggage.get_baggage"]("a") is entry
    ours["context.detach"](token)
    del span, entry, token
    gc.collect()
    assert [each() for each in alive] == [None, None]


@pytest.mark.usefixtures("ours")
def test_threads_and_greenlets():
    """Each has the context that it attached."""
    greenlet = pytest.importorskip("greenlet")
    wrong = []

    def work(number):
        for _ in range(500):
            token = context_api.attach(context_api.set_value("number", number))
            if context_api.get_value("number") != number:
                wrong.append(number)
            context_api.detach(token)

    def green():
        token = context_api.attach(context_api.set_value("number", "green"))
        parent.switch()
        wrong.extend(["green"] if context_api.get_value("number") != "green" else [])
        context_api.detach(token)

    parent = greenlet.getcurrent()
    one = greenlet.greenlet(green)
    one.switch()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    work("main")
    for each in threads:
        each.join()
    one.switch()
    assert wrong == []
    assert context_api.get_current() == {}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_while_a_context_is_attached(ours):
    """The child has it, and can restore."""
    token = ours["context.attach"](ours["context.set_value"]("a", 1))
    child = os.fork()
    if not child:
        is_right = False
        try:
            is_right = context_api.get_value("a") == 1
            context_api.detach(token)
            is_right = is_right and context_api.get_current() == {}
        finally:
            os._exit(0 if is_right else 1)
    context_api.detach(token)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_time_limit_reaches_the_host(ours):
    """Wherever it arrives, the host gets it."""

    def ring(_number, _frame):
        raise Limit

    def work():
        for _ in range(1_000_000):
            for name in NAMES:
                if name != "context.attach":
                    use(name, ours[name])

    def limited(delay):
        signal.setitimer(signal.ITIMER_REAL, delay * 1e-6)
        work()

    before = signal.signal(signal.SIGALRM, ring)
    start = context_api.get_current()
    # What its callbacks and finalizers raise reaches nobody.
    gc.disable()
    try:
        for delay in range(1, 400, 3):
            with pytest.raises(Limit):
                limited(delay)
            context_api._RUNTIME_CONTEXT._current_context.set(start)
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
