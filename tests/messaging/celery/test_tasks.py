"""Tasks of Celery: what runs in the place of stock's hooks, when it steps back, and what is kept."""

# ruff: noqa: ARG001  # the fixture `ours` puts the hooks in their places

from __future__ import annotations

import gc
import importlib
import inspect
import weakref

import pytest
import wrapt
from celery import signals
from executed_functions import executed
from opentelemetry import trace
from opentelemetry.instrumentation import celery as stock
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.instrumentation.celery.utils import CTX_KEY
from opentelemetry.sdk.trace import Span

from otel_fastpath.messaging.celery import stock_celery

from .conftest import SIGNALS, Tasks, Telemetry, state, stock_hooks

HOOKS = {name: inspect.getattr_static(CeleryInstrumentor, f"_trace_{name}") for name in stock_celery.SIGNALS}


@pytest.fixture
def tasks():
    """An application with a task."""
    made = Tasks()
    made.app.task(name="shop.add", shared=False)(add)
    made.app.finalize()
    yield made
    made.close()


def add(one, other):
    """A task."""
    return one + other


def go_through(tasks, task_id="id"):
    """Send a task, and run it as a worker does."""
    add = tasks.app.tasks["shop.add"]
    add.apply_async((1, 2), task_id=task_id, producer=tasks.producer)
    headers = tasks.producer.messages[-1][1]["headers"]
    request = {**headers, "hostname": "worker", "delivery_info": {"routing_key": "celery"}}
    return tasks.run(add, request, (1, 2)).retval


def test_stock_does_none_of_it(ours, tasks):
    """Of a task that is sent and runs, stock's functions only hand on."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        go_through(tasks)
        found = executed(lambda: go_through(tasks), stock_celery.MODULE)
    assert found == ["_trace_before_publish", "_trace_after_publish", "_trace_prerun", "_trace_postrun"]
    spans, _, points = telemetry.seen()
    assert [span[0] for span in spans] == ["apply_async/shop.add", "run/shop.add"] * 2
    assert [span[-1] for span in spans] == [None, 0, None, 2]
    assert len(points) == 1


@pytest.mark.parametrize("was_first", [True, False])
def test_either_may_be_first_and_last(instrumentor, core, tasks, was_first):
    """Instrumented before or after this package is, and no longer instrumented before or after it is taken away."""
    telemetry = Telemetry()
    given = {"tracer_provider": telemetry.tracers, "meter_provider": telemetry.meters}
    if was_first:
        CeleryInstrumentor().instrument(**given)
    instrumentor.instrument(core=core)
    if not was_first:
        CeleryInstrumentor().instrument(**given)
    assert state(instrumentor) == ("applied", "")
    assert "attach_context" not in executed(lambda: go_through(tasks), stock_celery.MODULE)
    instrumentor.uninstrument()
    assert {name: inspect.getattr_static(CeleryInstrumentor, f"_trace_{name}") for name in HOOKS} == HOOKS
    assert "attach_context" in executed(lambda: go_through(tasks), stock_celery.MODULE)
    CeleryInstrumentor().uninstrument()
    assert [signal.receivers for signal in SIGNALS] == [[]] * len(SIGNALS)
    go_through(tasks)
    assert [span[0] for span in telemetry.seen()[0]] == ["apply_async/shop.add", "run/shop.add"] * 2


# Where stock's code looks for what it calls.
CALLED = sorted({*stock_celery.CALLED} - {f"{stock_celery.MODULE}:CeleryGetter.get"})
CALLED += [f"{stock_celery.MODULE}:{name}" for name in ("extract", "inject")]


@pytest.mark.parametrize("place", CALLED)
@pytest.mark.parametrize("is_before", [True, False])
def test_what_other_code_replaces_is_called(ours, tasks, monkeypatch, place, is_before):
    """Also if that was there when the first task came; and the status names it."""
    with Telemetry().instrumented():
        if not is_before:
            go_through(tasks)
        module, _, name = place.partition(":")
        owner = importlib.import_module(module)
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        name = name.rpartition(".")[2]
        called, original = [], getattr(owner, name)

        def replacement(*args, **kwargs):
            called.append(name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, replacement)
        go_through(tasks)
        assert called
        assert name in state(ours)[1]
        monkeypatch.undo()
        assert state(ours) == ("applied", "")


def test_methods_of_the_span_that_others_replace_are_called(ours, tasks, monkeypatch):
    """Each attribute is set by itself then."""
    found, original = [], Span.set_attribute

    def set_attribute(self, key, value):
        found.append(key)
        original(self, key, value)

    with Telemetry().instrumented():
        go_through(tasks)
        monkeypatch.setattr(Span, "set_attribute", set_attribute)
        go_through(tasks)
    assert found.count("celery.action") == 2


@pytest.mark.parametrize("is_before", [True, False])
def test_a_vendors_wrapper(instrumentor, core, tasks, monkeypatch, is_before):
    """Around a hook of stock, put there before or after this package."""
    called, telemetry = [], Telemetry()

    def around(wrapped, _instance, args, kwargs):
        called.append(kwargs["task_id"])
        return wrapped(*args, **kwargs)

    def wrap():
        wrapper = wrapt.FunctionWrapper(HOOKS["postrun"], around)
        monkeypatch.setattr(CeleryInstrumentor, "_trace_postrun", wrapper)

    if is_before:
        wrap()
    instrumentor.instrument(core=core)
    if not is_before:
        wrap()
    with telemetry.instrumented():
        go_through(tasks)
    instrumentor.uninstrument()
    with telemetry.instrumented():
        go_through(tasks)
    assert called == ["id", "id"]
    assert len(telemetry.seen()[0]) == 4


def test_a_subclass_is_stock(ours, tasks):
    """An instrumentor of an application's own runs its own methods."""

    class Own(CeleryInstrumentor):
        _instance = None

        def update_task_duration_time(self, task_id):
            super().update_task_duration_time(task_id)
            seen.append(task_id)

    seen, telemetry = [], Telemetry()
    own = Own()
    own.instrument(tracer_provider=telemetry.tracers, meter_provider=telemetry.meters)
    try:
        go_through(tasks)
    finally:
        own.uninstrument()
    assert seen == ["id", "id"]
    assert len(telemetry.seen()[0]) == 2


def test_nothing_is_kept(ours, tasks, unfrozen):
    """Ten thousand ids leave nothing behind, and a task's arguments are not kept alive."""

    class Argument:
        """An argument."""

    telemetry = Telemetry()
    with telemetry.instrumented() as instrumentor:
        go_through(tasks)
        add, argument = tasks.app.tasks["shop.add"], Argument()
        watched = weakref.ref(argument)
        request = {"id": "last", "hostname": "worker", "delivery_info": {}, "traceparent": "x"}
        with stock_hooks():
            before = {*vars(add)}
        for number in range(2_000):
            signals.task_prerun.send(sender=add, task_id=str(number), task=add, args=(argument,), kwargs={})
            signals.task_postrun.send(sender=add, task_id=str(number), task=add, args=(), kwargs={}, state="SUCCESS")
        tasks.run(add, request, (1, 2))
        assert {*vars(add)} - {"_default_request"} == before
        assert vars(add)[CTX_KEY] == {}
        assert instrumentor.task_id_to_start_time == {}
        del argument
        gc.collect()
        assert watched() is None


def test_a_task_that_is_not_known_here_is_sent_and_ended(ours, tasks):
    """Its span ends when the message has its headers, and is current until then, as with stock."""
    telemetry = Telemetry()
    with telemetry.instrumented():
        tasks.app.send_task("elsewhere.add", task_id="id", producer=tasks.producer)
        assert trace.get_current_span() is trace.INVALID_SPAN
    (span,) = telemetry.spans.get_finished_spans()
    header = tasks.producer.messages[-1][1]["headers"]["traceparent"]
    assert header.split("-")[2] == trace.format_span_id(span.context.span_id)


class LimitReached(Exception):  # noqa: N818  # as Celery's `SoftTimeLimitExceeded`
    """A time limit."""


@pytest.mark.parametrize("signal", stock_celery.SIGNALS)
def test_an_interruption_is_the_hosts(ours, tasks, monkeypatch, no_faults, signal):
    """A time limit that arrives in a hook is raised there, as in stock's, and is no fault."""

    def raise_limit(*_args, **_kwargs):
        raise LimitReached

    add = tasks.app.tasks["shop.add"]
    given = {"task": add, "task_id": "id", "sender": "shop.add", "headers": {"id": "id"}}
    telemetry = Telemetry()
    with telemetry.instrumented() as instrumentor:
        opened = (trace.INVALID_SPAN, type("Scope", (), {"__exit__": raise_limit})(), None)
        vars(add)[CTX_KEY] = {("id", False): opened, ("id", True): opened}
        monkeypatch.setattr(stock.trace, "use_span", raise_limit)
        with pytest.raises(LimitReached):
            getattr(instrumentor, f"_trace_{signal}")(**given)
        monkeypatch.undo()
        vars(add).pop(CTX_KEY)
        instrumentor.task_id_to_start_time.clear()
    assert no_faults.counts() == {}
