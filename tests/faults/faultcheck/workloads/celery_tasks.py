"""Tasks of Celery that are sent, and that run as a worker runs them; no broker is asked."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from celery import Celery
from celery.app.trace import build_tracer
from opentelemetry import trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from faultcheck.host import Host

_PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
_DELIVERY = {"exchange": "", "routing_key": "celery", "priority": 0}


class _Connection:
    @contextmanager
    def _reraise_as_library_errors(self) -> Iterator[None]:
        yield


class _Producer:
    """In the place of kombu's: it keeps the headers of messages."""

    connection = _Connection()
    auto_declare = False

    def __init__(self) -> None:
        self.headers: list[dict[str, Any]] = []

    def publish(self, *_args: Any, headers: dict[str, Any], **_more: Any) -> None:
        """Keep one."""
        self.headers.append(headers)


class CeleryTasks(Workload):
    """A task that succeeds and one that fails."""

    about = ("otel_fastpath/messaging/", "otel_fastpath/trace/propagation/")

    def prepare(self) -> None:
        """The application, and where the spans go."""
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.app = Celery("shop", broker="memory://", backend="disabled://", set_as_current=True)
        self.app.task(name="shop.add")(self._add)
        self.app.task(name="shop.fail")(self._fail)
        self.app.finalize()
        self.producer = _Producer()

    def begin(self) -> None:
        """Celery is instrumented."""
        CeleryInstrumentor().instrument(**self.telemetry.providers())
        tasks = {name: self.app.tasks[name] for name in ("shop.add", "shop.fail")}
        self.workers = {name: build_tracer(name, task, app=self.app) for name, task in tasks.items()}

    def run(self, host: Host) -> None:
        """Send and run, twice."""
        for turn in ("first", "again"):
            host.step(f"{turn}: send", self._send, "shop.add")
            host.step(f"{turn}: send by name", self._send, "shop.elsewhere")
            host.step(f"{turn}: run", self._run, "shop.add", {"traceparent": _PARENT, "timelimit": [30, None]})
            host.step(f"{turn}: run odd", self._run, "shop.add", {"baggage": "a=b", "priority": object()})
            host.step(f"{turn}: run, fails", self._run, "shop.fail", {})
            host.step(f"{turn}: run eagerly", self._run_eagerly)

    def _send(self, name: str) -> Any:
        self.app.send_task(name, (1, 2), task_id="id", producer=self.producer)
        return "id" in self.producer.headers[-1], trace.get_current_span().is_recording()

    def _run(self, name: str, fields: dict[str, Any]) -> Any:
        request = {"id": "id", "hostname": "worker", "delivery_info": _DELIVERY, **fields}
        ended = self.workers[name]("id", (1, 2), {}, request)
        return str(ended.retval), trace.get_current_span().is_recording()

    def _run_eagerly(self) -> Any:
        ended = self.app.tasks["shop.add"].apply((1, 2), task_id="id")
        return ended.result, trace.get_current_span().is_recording()

    @staticmethod
    def _add(one: int, other: int) -> int:
        return one + other

    @staticmethod
    def _fail(_one: int, _other: int) -> None:
        raise LookupError("the host's")
