"""Suppressing instrumentation: what stands in the place of stock's functions, and when it steps back."""

from __future__ import annotations

import contextvars
import functools
import gc
import inspect
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
from contextlib import AbstractContextManager, ExitStack, _GeneratorContextManager

import pytest
from interrupting import Limit, interrupt
from opentelemetry import context as context_api
from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
from opentelemetry.instrumentation import utils
from opentelemetry.sdk.trace import TracerProvider

from otel_fastpath.compiled import hot

SUPPRESSING = ("suppress_instrumentation", "suppress_http_instrumentation")
ASKING = ("is_instrumentation_enabled", "is_http_instrumentation_enabled")
NAMES = (*SUPPRESSING, *ASKING)
# Where stock's code looks for what it calls, and whether it is called in a block, or for an answer.
CALLED = [
    (context_api, "attach", SUPPRESSING),
    (context_api, "detach", SUPPRESSING),
    (context_api, "set_value", SUPPRESSING),
    (context_api, "get_current", NAMES),
    (context_api, "get_value", ASKING),
    (ContextVarsRuntimeContext, "attach", SUPPRESSING),
    (ContextVarsRuntimeContext, "detach", SUPPRESSING),
    (ContextVarsRuntimeContext, "get_current", NAMES),
    (utils, "_suppress_instrumentation", SUPPRESSING),
    (utils, "is_instrumentation_enabled", ASKING[1:]),
]


def use(name, function=None):
    """Use the function of this name once."""
    made = (function or getattr(utils, name))()
    if name in ASKING:
        return made
    with made:
        return dict(context_api.get_current())


def fall(name):
    """Raise an exception in a block, or after an answer."""
    with ExitStack() as stack:
        made = getattr(utils, name)()
        if name in SUPPRESSING:
            stack.enter_context(made)
        raise KeyError("the host's")


@pytest.mark.parametrize("name", NAMES)
def test_it_looks_like_the_original(ours, stock, name):
    """Signature, names, docs, what it wraps, its nature, and how it is pickled."""
    assert ours[name] is not stock[name]
    assert inspect.signature(ours[name]) == inspect.signature(stock[name])
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        assert getattr(ours[name], attribute) == getattr(stock[name], attribute)
    assert ours[name].__wrapped__ is stock[name]
    assert not inspect.isgeneratorfunction(ours[name])
    assert pickle.loads(pickle.dumps(ours[name])) is ours[name]  # noqa: S301  # of our own making
    with pytest.raises(TypeError):
        ours[name](1)


@pytest.mark.parametrize("name", NAMES)
def test_what_they_are_not(ours, core, name):
    """A deliberate difference: contextlib's class, and Python functions."""
    assert inspect.isfunction(ours[name]) is (core == "py")
    if name in SUPPRESSING:
        assert not isinstance(ours[name](), _GeneratorContextManager)


@pytest.mark.parametrize("name", SUPPRESSING)
def test_what_a_block_sets(ours, stock, name):
    """The same keys with the same values, in the same order, and a context manager as ever."""
    assert isinstance(ours[name](), AbstractContextManager)
    assert list(use(name).items()) == list(use(name, stock[name]).items())
    with ours[name]() as entered:
        assert entered is None
        assert type(context_api.get_current()) is context_api.Context
    assert context_api.get_current() == {}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_imported_while_it_was_in_force(ours, stock, instrumentor, core, name):
    """It does what stock's does while the package is uninstrumented, and is in force again afterwards."""
    held = ours[name]
    instrumentor.uninstrument()
    assert getattr(utils, name) is stock[name]
    if name in SUPPRESSING:
        assert type(held()) is type(stock[name]())
    assert use(name, held) == use(name)
    instrumentor.instrument(core=core)
    assert getattr(utils, name) is held
    if name in SUPPRESSING:
        assert type(held()).__module__.startswith("otel_fastpath.")


@pytest.mark.parametrize("name", NAMES)
def test_a_wrapper_of_others(ours, stock, instrumentor, core, monkeypatch, name):
    """Below a wrapper that stays, calls reach stock's function once ours is taken off, and ours once it is back."""
    calls = []

    @functools.wraps(ours[name])
    def wrapper():
        calls.append(name)
        return ours[name]()

    with monkeypatch.context() as patching:
        patching.setattr(utils, name, wrapper)
        expected = use(name, stock[name])
        assert use(name) == expected
        instrumentor.uninstrument()
        assert use(name) == expected
        if name in SUPPRESSING:
            assert type(utils.__dict__[name]()) is type(stock[name]())
        instrumentor.instrument(core=core)
        assert use(name) == expected
    assert len(calls) >= 3


@pytest.mark.parametrize(("owner", "replaced", "names"), CALLED, ids=lambda each: getattr(each, "__name__", None))
def test_what_others_have_replaced_is_called(ours, stock, monkeypatch, owner, replaced, names):
    """As often as by stock's functions, from the next call on; and no longer once it is put back."""
    calls = []
    original = getattr(owner, replaced)

    def replacement(*args, **kwargs):
        calls.append(replaced)
        return original(*args, **kwargs)

    for name in names:
        ready = ours[name]() if name in SUPPRESSING else None
        monkeypatch.setattr(owner, replaced, replacement)
        found = []
        for function in (stock[name], ours[name], *([lambda ready=ready: ready] if ready else [])):
            calls.clear()
            use(name, function)
            found.append(len(calls))
        monkeypatch.setattr(owner, replaced, original)
        assert found[0] >= 1
        assert set(found) == {found[0]}, name
        calls.clear()
        use(name, ours[name])
        assert calls == []


@pytest.mark.parametrize("key", ["_SUPPRESS_INSTRUMENTATION_KEY", "_SUPPRESS_HTTP_INSTRUMENTATION_KEY"])
@pytest.mark.parametrize("name", NAMES)
def test_another_key(ours, stock, monkeypatch, name, key):
    """The keys are those that stock's module has now."""
    monkeypatch.setattr(utils, key, "another")
    context = context_api.Context({"another": True})
    token = context_api.attach(context)
    try:
        assert use(name, ours[name]) == use(name, stock[name])
    finally:
        context_api.detach(token)


class OwnRuntime(ContextVarsRuntimeContext):
    """A runtime context of an application, whose tokens count as false."""

    class Token:
        """One of them."""

        def __bool__(self):
            """It does not count."""
            return False

    def attach(self, context):
        """Keep the real token nowhere."""
        super().attach(context)
        return self.Token()


@pytest.mark.parametrize("name", SUPPRESSING)
def test_another_runtime_context(ours, stock, monkeypatch, name):
    """Stock's code runs: a token that counts as false is not detached."""
    monkeypatch.setattr(context_api, "_RUNTIME_CONTEXT", OwnRuntime())
    found = []
    for function in (stock[name], ours[name]):
        with function():
            inside = dict(context_api.get_current())
        found.append((inside, dict(context_api.get_current()), *(utils.__dict__[each]() for each in ASKING)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", SUPPRESSING)
def test_replaced_while_a_block_is_open(ours, monkeypatch, name):
    """`detach` is looked up when the block is left, as by stock."""
    calls = []
    original = context_api.detach
    with ours[name]():
        monkeypatch.setattr(context_api, "detach", lambda token: (calls.append(type(token)), original(token)))
    assert calls == [contextvars.Token]
    assert context_api.get_current() == {}


def test_one_object_in_many_threads(ours):
    """One thread enters it; the others are told that it was entered."""
    for _ in range(50):
        manager, start, entered = ours["suppress_instrumentation"](), threading.Barrier(4), []

        def enter(manager=manager, start=start, entered=entered):
            start.wait()
            try:
                manager.__enter__()
            except AttributeError:
                return
            entered.append(1)
            manager.__exit__(None, None, None)

        threads = [threading.Thread(target=enter) for _ in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert entered == [1]


def test_threads_and_greenlets(ours):
    """What one of them suppresses, the others do not."""
    greenlet = pytest.importorskip("greenlet")
    asked = []

    def thread():
        asked.append(utils.is_instrumentation_enabled())

    def green():
        with ours["suppress_instrumentation"]():
            asked.append(utils.is_instrumentation_enabled())
            parent.switch()
            asked.append(utils.is_instrumentation_enabled())

    parent = greenlet.getcurrent()
    one = greenlet.greenlet(green)
    one.switch()
    asked.append(utils.is_instrumentation_enabled())
    with ours["suppress_instrumentation"]():
        other = threading.Thread(target=thread)
        other.start()
        other.join()
        one.switch()
    # Free-threaded builds let a thread begin with the context of the one that starts it.
    assert asked == [False, True, not getattr(sys.flags, "thread_inherit_context", 0), False]
    assert utils.is_instrumentation_enabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_within_a_block(ours):
    """The child is in the block, leaves it, and can suppress again."""
    with ExitStack() as stack:
        stack.enter_context(ours["suppress_http_instrumentation"]())
        child = os.fork()
        if not child:
            try:
                is_right = not utils.is_http_instrumentation_enabled() and utils.is_instrumentation_enabled()
                stack.close()
                is_right = is_right and utils.is_http_instrumentation_enabled()
                with ours["suppress_instrumentation"]():
                    is_right = is_right and not utils.is_instrumentation_enabled()
            finally:
                os._exit(0 if is_right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("core", ["py"], indirect=True)  # a compiled function cannot be replaced
@pytest.mark.parametrize("place", ["fill", "attach_flags", "detach", "get_value", "_is_any_true"])
@pytest.mark.parametrize("name", NAMES)
def test_a_fault_of_ours(instrumented, stock, monkeypatch, no_faults, caplog, name, place):
    """The host does not see it: stock's code runs, and the context is restored."""
    del instrumented
    module = hot.others_suppression_suppressing

    def fail(*_args):
        raise ZeroDivisionError("ours")

    fail = type(fail)(fail.__code__, vars(module), "fail")
    monkeypatch.setattr(module, place, fail)
    token = context_api.attach(context_api.Context({utils._SUPPRESS_INSTRUMENTATION_KEY: True}))
    try:
        with caplog.at_level(logging.CRITICAL):
            assert use(name) == use(name, stock[name])
        assert context_api.get_current() == {utils._SUPPRESS_INSTRUMENTATION_KEY: True}
        with pytest.raises(KeyError, match="the host's"):
            fall(name)
        assert context_api.get_current() == {utils._SUPPRESS_INSTRUMENTATION_KEY: True}
    finally:
        context_api.detach(token)
    is_used = (
        place in {"fill", "attach_flags", "detach"} if name in SUPPRESSING else place in {"get_value", "_is_any_true"}
    )
    assert bool(no_faults.counts()) is is_used


def left():
    """Blocks that end."""
    with utils.suppress_instrumentation(), utils.suppress_http_instrumentation():
        utils.is_http_instrumentation_enabled()


def raising():
    """A block that raises."""
    with utils.suppress_http_instrumentation():
        raise KeyError("the host's own")


@utils.suppress_instrumentation()
def stocks():
    """Decorated before the package was instrumented."""


def decorated():
    """A decorated function."""
    utils.suppress_instrumentation()(stocks)()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
@pytest.mark.parametrize("host", [left, raising, decorated])
@pytest.mark.parametrize("core", ["py"], indirect=True)  # nothing arrives in compiled code
def test_where_the_interpreter_runs_signal_handlers(instrumented, host):
    """The host gets what is raised there, with its context."""
    del instrumented
    wrong = interrupt(TracerProvider(shutdown_on_exit=False), host, expected=(KeyError,))
    if host is left:
        # The collector leaves the inner block after the outer one, as stock's.
        wrong = [each for each in wrong if not each.startswith(" current at Suppression.__exit__ ")]
    assert wrong == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_time_limit_reaches_the_host(core, ours):
    """Wherever it arrives, the host gets it, and nothing stays suppressed."""

    def ring(_number, _frame):
        raise Limit

    def work(delay):
        # Apart: CPython 3.13 runs handlers at a loop's jump as if it were outside of a `try` around it.
        signal.setitimer(signal.ITIMER_REAL, delay * 1e-6)
        for _ in range(1_000_000):
            with ours["suppress_instrumentation"]():
                ours["is_instrumentation_enabled"]()

    before = signal.signal(signal.SIGALRM, ring)
    gc.disable()  # what its callbacks and finalizers raise reaches nobody
    try:
        for delay in range(1, 200):
            with pytest.raises(Limit):
                work(delay)
            # As a Python function returns, CPython 3.10 runs handlers, too: what it returned, a token, is lost.
            assert (core == "py" and sys.version_info < (3, 11)) or context_api.get_current() == {}, delay
            context_api.attach(type(context_api.get_current())({}))
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


PROGRAM = """
import sys
from otel_fastpath.instrumentor import FastpathInstrumentor

ours = FastpathInstrumentor()
first, second = sys.argv[1:]
ours.instrument(core=first)
from opentelemetry.instrumentation import requests, utils
from opentelemetry.instrumentation.requests import RequestsInstrumentor
assert requests.suppress_http_instrumentation is utils.suppress_http_instrumentation
RequestsInstrumentor().instrument()
for core in (first, second, first):
    ours.uninstrument()
    ours.instrument(core=core)
    [row] = [row for row in ours.status() if row.name == "requests.send"]
    assert (row.state.value, row.reason) == ("applied", ""), row
"""


@pytest.mark.parametrize("core", ["py", "c"])
def test_an_instrumentation_that_has_imported_ours(core):
    """Its own patch knows stock's functions below ours, also those of the core that was in use before."""
    pytest.importorskip("otel_fastpath.trace.context.scope_c")
    command = [sys.executable, "-c", PROGRAM, core, "py" if core == "c" else "c"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
