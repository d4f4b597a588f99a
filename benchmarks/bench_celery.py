"""Tasks of Celery that are sent and that run, by Celery's own code: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_celery.py                 the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'celery*'

The set-ups are `stock`, `pure` and `compiled`. In the place of the broker's connection stands an object that takes the
messages. A task that runs is run by what a worker calls for each message.
"""

from __future__ import annotations

import functools
import itertools
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bench_span import batching
from celery import Celery, signals
from celery.app.trace import build_tracer
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from setups import ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIGNALS = (
    signals.task_prerun,
    signals.task_postrun,
    signals.before_task_publish,
    signals.after_task_publish,
    signals.task_failure,
    signals.task_retry,
)
_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_NAMES = 1_000


class Connection:
    """In the place of a connection to a broker."""

    @contextmanager
    def _reraise_as_library_errors(self) -> Iterator[None]:
        yield


class Producer:
    """In the place of kombu's: it takes messages."""

    connection = Connection()
    auto_declare = False

    def publish(self, *_args: Any, **_more: Any) -> None:
        """Take one."""


class Given:
    """The objects that the callables of this file use.

    Attributes:
        app: A Celery application.
        task: A task of it.
        worker: What a worker calls with each message of that task.
    """

    def __init__(self) -> None:
        self.app = app = Celery("bench", broker="memory://", backend="disabled://", set_as_current=True)

        @app.task(name="shop.add", ignore_result=True)
        def add(one: int, other: int) -> int:
            return one + other

        @app.task(name="shop.fail", ignore_result=True)
        def fail() -> None:
            raise ValueError("no such item")

        app.finalize()
        # As a worker finds them: a decorated function is a proxy.
        self.task, self.failing = app.tasks[add.name], app.tasks[fail.name]
        self.worker = build_tracer(add.name, self.task, app=app)
        self.failing_worker = build_tracer(fail.name, self.failing, app=app)
        self.producer = Producer()
        self.spans = batching()
        self.reader = InMemoryMetricReader()
        self.meters = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        CeleryInstrumentor().instrument(tracer_provider=self.spans, meter_provider=self.meters)
        self.receivers = [list(signal.receivers) for signal in _SIGNALS]

    @functools.cached_property
    def next_named(self) -> Callable[[], Any]:
        """Returns one of many tasks in turn."""
        names = [f"shop.task_{number}" for number in range(_NAMES)]
        for name in names:
            self.app.task(name=name, ignore_result=True)(_do_nothing)
        return itertools.cycle([self.app.tasks[name] for name in names]).__next__

    @contextmanager
    def bare(self) -> Iterator[None]:
        """Without the instrumentation's receivers."""
        for signal in _SIGNALS:
            signal.receivers.clear()
        try:
            yield
        finally:
            for signal, found in zip(_SIGNALS, self.receivers, strict=True):
                signal.receivers.extend(found)

    def request(self) -> dict[str, Any]:
        """What a worker finds in a message."""
        return {
            "lang": "py",
            "task": "shop.add",
            "id": _ID,
            "shadow": None,
            "eta": None,
            "expires": None,
            "group": None,
            "group_index": None,
            "retries": 0,
            "timelimit": [None, None],
            "root_id": _ID,
            "parent_id": None,
            "argsrepr": "(1, 2)",
            "kwargsrepr": "{}",
            "origin": "gen1@shop",
            "ignore_result": True,
            "traceparent": _PARENT,
            "properties": {"correlation_id": _ID},
            "reply_to": "7a9e8e0c-92ae-3c3b-9d02-0c7e5b3f1f9e",
            "correlation_id": _ID,
            "hostname": "celery@shop",
            "delivery_info": {"exchange": "", "routing_key": "celery", "priority": 0, "redelivered": None},
        }


_ID = "4f0c9b3e-8d4e-4f0e-9a52-8c1f6d1f3c11"


def _do_nothing() -> None:
    pass


stock, pure, compiled = ways(Given)


def _pair(use: Callable[[Given], object]) -> tuple[Callable[[Given], None], Callable[[Given], None]]:
    """The call without the instrumentation, and with it: both take its receivers away and give them back."""

    def bare(given: Given) -> None:
        with given.bare():
            use(given)

    def instrumented(given: Given) -> None:
        with given.bare():
            pass
        use(given)

    # The table finds them by these names.
    name = use.__name__.removeprefix("_")
    bare.__name__, instrumented.__name__ = f"{name}_bare", name
    return bare, instrumented


def _send(given: Given) -> None:
    given.task.apply_async((1, 2), task_id=_ID, producer=given.producer)


def _send_by_name(given: Given) -> None:
    given.app.send_task("shop.unknown", (1, 2), task_id=_ID, producer=given.producer)


def _send_many(given: Given) -> None:
    given.next_named().apply_async((), task_id=_ID, producer=given.producer)


def _run(given: Given) -> None:
    given.worker(_ID, (1, 2), {}, given.request())


def _fail(given: Given) -> None:
    given.failing_worker(_ID, (), {}, given.request())


def _run_eagerly(given: Given) -> None:
    given.task.apply((1, 2), task_id=_ID)


def _run_many(given: Given) -> None:
    given.next_named().apply((), task_id=_ID)


send_bare, send = _pair(_send)
send_by_name_bare, send_by_name = _pair(_send_by_name)
send_many_bare, send_many = _pair(_send_many)
run_bare, run = _pair(_run)
fail_bare, fail = _pair(_fail)
run_eagerly_bare, run_eagerly = _pair(_run_eagerly)
run_many_bare, run_many = _pair(_run_many)

# Row of the table -> bare and instrumented.
ROWS = {
    "celery, send": (send_bare, send),
    "celery, send by name": (send_by_name_bare, send_by_name),
    "celery, send 1,000 tasks in turn": (send_many_bare, send_many),
    "celery, run": (run_bare, run),
    "celery, run fails": (fail_bare, fail),
    "celery, run eagerly": (run_eagerly_bare, run_eagerly),
    "celery, run 1,000 tasks in turn": (run_many_bare, run_many),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Tasks of Celery", "bench_celery", ROWS, ("stock", "pure", "compiled")))
