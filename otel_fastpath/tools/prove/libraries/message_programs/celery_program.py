"""Tasks of Celery that are sent, and that run as a worker runs them; no broker is asked."""

from __future__ import annotations

import functools
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from celery import Celery
from celery.app.trace import build_tracer
from celery.exceptions import Ignore, Reject
from opentelemetry import baggage, trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor

from otel_fastpath.tools.prove.libraries.modes import around, instrumented, providers

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from otel_fastpath.tools.prove.program import ProgramRun

_ID: Final = "4f0c9b3e-8d4e-4f0e-9a52-8c1f6d1f3c11"
_PARENT: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_HEADERS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"traceparent": _PARENT},
    {"traceparent": _PARENT, "tracestate": "a=1", "baggage": "user=ann"},
    {"timelimit": [30, None], "retries": 1, "eta": "2026-01-01T00:00:00", "reply_to": "here"},
    {"timelimit": (None, None), "correlation_id": _ID, "delivery_info": {"routing_key": "shop.#"}},
)
_OPTIONS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"countdown": 1},
    {"priority": 3, "routing_key": "shop.orders", "exchange": "events"},
    {"retries": 1, "time_limit": 30, "serializer": "json"},
)
_UNKNOWN: Final = "shop.unknown"


class _BrokerConnection:
    """In the place of a connection to a broker."""

    @contextmanager
    def _reraise_as_library_errors(self) -> Iterator[None]:
        yield


class _Producer:
    """In the place of kombu's: it keeps the headers of messages."""

    connection = _BrokerConnection()
    auto_declare = False

    def __init__(self, sent: list[Any]) -> None:
        self._sent = sent

    def publish(self, _body: Any, *_args: Any, headers: Any, **_more: Any) -> None:
        """Keep them."""
        self._sent.append([headers.get(name) for name in ("traceparent", "tracestate", "baggage")])


def _add(one: int, other: int) -> int:
    trace.get_current_span().set_attribute("baggage", str(dict(baggage.get_all())))
    return one + other


def _fail(*_args: Any) -> None:
    raise LookupError("the host's")


def _expected(*_args: Any) -> None:
    raise KeyError("expected")


def _retry(task: Any, *_args: Any) -> None:
    task.retry(exc=ValueError("once more"), countdown=0)


def _ignore(*_args: Any) -> None:
    raise Ignore("ignored")


def _reject(*_args: Any) -> None:
    raise Reject("rejected", requeue=False)


class _Shop:
    """An application, made once, and what a worker calls with the messages of each task."""

    def __init__(self) -> None:
        self.app = app = Celery("shop", broker="memory://", backend="disabled://", set_as_current=True)
        given: dict[Any, dict[str, Any]] = {
            _add: {},
            _fail: {},
            _expected: {"throws": (KeyError,)},
            _retry: {"bind": True, "max_retries": 1},
            _ignore: {},
            _reject: {},
        }
        names = [app.task(name=f"shop.{each.__name__}", **given[each])(each).name for each in given]
        app.finalize()
        self.tasks = [app.tasks[name] for name in names]
        self.workers = {each.name: build_tracer(each.name, each, app=app, hostname="worker") for each in self.tasks}


@functools.cache
def _shop() -> _Shop:
    return _Shop()


def _request(draw: random.Random) -> dict[str, Any]:
    """What a worker finds in a message."""
    return {
        "lang": "py",
        "id": _ID,
        "origin": "gen1@shop",
        "hostname": "celery@shop",
        "delivery_info": {"exchange": "", "routing_key": "celery", "priority": 0, "redelivered": None},
        "callbacks": None,
        "errbacks": None,
        "chain": None,
        **draw.choice(_HEADERS),
    }


def run_celery(run: ProgramRun) -> None:
    """Tasks of each kind."""
    telemetry, shop = run.telemetry(), _shop()
    shop.app.set_current()

    def send(draw: random.Random) -> None:
        producer = _Producer(run.carried)
        options = {**draw.choice(_OPTIONS), "task_id": _ID, "producer": producer}
        with around(run, telemetry):
            if draw.randrange(4):
                draw.choice(shop.tasks).apply_async((1, 2), **options)
            else:
                shop.app.send_task(_UNKNOWN, (1, 2), **options)

    def work(draw: random.Random) -> Any:
        with around(run, telemetry):
            task = draw.choice(shop.tasks)
            ended = shop.workers[task.name](_ID, (1, 2), {}, _request(draw))
        return str(ended.retval), ended.info and ended.info.state

    def apply(draw: random.Random) -> Any:
        with around(run, telemetry):
            ended = draw.choice(shop.tasks).apply((1, 2), task_id=_ID)
        return ended.state, str(ended.result)

    # One in three links its tasks to what has sent them.
    given = {**providers(telemetry, "tracer", "meter"), "use_span_links": run.seed % 3 == 2}  # noqa: PLR2004
    with instrumented(run, telemetry, CeleryInstrumentor(), **given):  # type: ignore[no-untyped-call]
        for draw in run.halves():
            for step in (send, work, apply) * 4:
                run.attempt(step, draw)


PROGRAM: Final = run_celery
