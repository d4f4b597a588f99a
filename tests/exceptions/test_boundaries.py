"""Python 3.10 and 3.11: the exceptions that nothing caught, as a metric of its own."""

from __future__ import annotations

import asyncio
import sys
import threading

import pytest

from otel_fastpath.exceptions import Settings, boundaries


@pytest.fixture
def begin():
    """Put the hooks in place, over quiet ones."""
    hooks = sys.excepthook, threading.excepthook
    seen = []
    sys.excepthook = lambda kind, *_: seen.append(("main", kind))
    threading.excepthook = lambda args: seen.append(("thread", args.exc_type))

    def call(**settings):
        boundaries._counts.clear()
        boundaries.start(Settings(**settings))
        return seen

    yield call
    boundaries.stop()
    sys.excepthook, threading.excepthook = hooks


def counted():
    """(type, boundary) -> how many."""
    return {(count.type, count.boundary): count.count for count in boundaries.uncaught()}


def fail(kind=ValueError):
    """Raise one."""
    raise kind


def in_thread(kind=ValueError):
    """End a thread with an exception."""
    thread = threading.Thread(target=fail, args=(kind,))
    thread.start()
    thread.join()


@pytest.mark.proves("exceptions.main", "exceptions.thread", "exceptions.event_loop")
def test_each_boundary_is_counted_and_called_as_before(begin):
    """What comes out of the main thread, a thread or an event loop is counted, and goes where it went."""
    seen = begin()
    sys.excepthook(ValueError, ValueError(), None)
    in_thread(KeyError)
    loop = asyncio.new_event_loop()
    handled = []
    loop.set_exception_handler(lambda _loop, context: handled.append(context["exception"]))
    loop.call_soon(fail, LookupError)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert counted() == {("ValueError", "main"): 1, ("KeyError", "thread"): 1, ("LookupError", "event_loop"): 1}
    assert seen == [("main", ValueError), ("thread", KeyError)]
    assert [type(each) for each in handled] == [LookupError]


def test_the_types_of_control_flow_are_skipped(begin):
    """The same types are left out as on newer Pythons; and the hooks work with nothing to count."""
    begin()
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)
    loop.call_exception_handler({"message": "no exception in it"})
    loop.close()
    assert counted() == {}


def test_types_beyond_the_limit_are_one(begin):
    """A service that makes up types cannot make up time series."""
    begin(limit=2)
    for number in range(5):
        in_thread(type(f"E{number}", (Exception,), {}))
    assert sorted(counted().values()) == [1, 1, 3]
    assert counted()["_OTHER", "thread"] == 3


def test_stop_puts_the_very_hooks_back(begin):
    """Off means off: the same objects are in place as before, and nothing is counted."""
    hooks = sys.excepthook, threading.excepthook, asyncio.BaseEventLoop.call_exception_handler
    begin()
    assert sys.excepthook is not hooks[0]
    boundaries.stop()
    assert (sys.excepthook, threading.excepthook, asyncio.BaseEventLoop.call_exception_handler) == hooks
    in_thread()
    assert counted() == {}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer Pythons count all exceptions")
def test_older_pythons_have_this_and_no_counters(run_python):
    """Without sys.monitoring no exception is counted that somebody catches, and the status says so."""
    found = run_python("""
        import threading
        from otel_fastpath import exceptions
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader

        threading.excepthook = lambda args: None
        reader = InMemoryMetricReader()
        provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
        print(exceptions.start(exceptions.Settings(), meter_provider=provider), exceptions.status()[0].reason)
        try: raise ValueError
        except ValueError: pass
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        print(exceptions.snapshot(), [(each.type, each.boundary, each.count) for each in exceptions.uncaught()])
        (metric,) = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        print(metric.name, metric.data.data_points[0].attributes)
    """)
    assert found.splitlines() == [
        "False sys.monitoring needs Python 3.12: only uncaught exceptions are counted",
        "() [('ZeroDivisionError', 'thread', 1)]",
        "cpython.exceptions.uncaught {'error.type': 'ZeroDivisionError', 'cpython.exception.boundary': 'thread'}",
    ]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="older Pythons have nothing else")
def test_newer_pythons_leave_the_hooks_alone(run_python):
    """Where all exceptions are counted, no hook is touched."""
    found = run_python("""
        import sys, threading
        hooks = sys.excepthook, threading.excepthook
        from otel_fastpath import exceptions
        exceptions.start(exceptions.Settings())
        print(hooks == (sys.excepthook, threading.excepthook))
    """)
    assert found == "True"
