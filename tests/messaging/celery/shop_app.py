"""A Celery application in processes of its own: a worker runs its tasks, `python shop_app.py` sends them.

The environment says where the broker is (BROKER), in which folder the spans are written (SPANS), and with which core
(CORE; "stock": without this package).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from celery import Celery, chord, group
from celery.exceptions import SoftTimeLimitExceeded
from celery.signals import worker_process_init
from opentelemetry import trace
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

app = Celery("shop", broker=os.environ["BROKER"], backend=os.environ["BROKER"])
app.conf.update(
    task_acks_late=True,
    task_default_queue=os.environ["QUEUE"],
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=1,
    result_expires=60,
)


class ToFile(SpanExporter):
    """Writes spans to a file of this process."""

    def export(self, spans):
        """Write them."""
        with (Path(os.environ["SPANS"]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
            for span in spans:
                parent = span.parent and trace.format_span_id(span.parent.span_id)
                found = {
                    "name": span.name,
                    "id": trace.format_span_id(span.context.span_id),
                    "trace": trace.format_trace_id(span.context.trace_id),
                    "parent": parent,
                    "status": span.status.status_code.name,
                    "description": span.status.description,
                    "keys": list(span.attributes),
                    "state": span.attributes.get("celery.state"),
                    "events": [event.attributes.get("exception.type") for event in span.events],
                }
                file.write(json.dumps(found) + "\n")
        return SpanExportResult.SUCCESS


def set_up():
    """Telemetry of this process."""
    if os.environ["CORE"] != "stock":
        from otel_fastpath import FastpathInstrumentor

        FastpathInstrumentor().instrument(core=os.environ["CORE"], exceptions="off")
        states = {row.name: row.state.value for row in FastpathInstrumentor().status()}
        assert states["celery.hooks"] == "applied", states
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ToFile()))
    trace.set_tracer_provider(provider)
    CeleryInstrumentor().instrument()


@worker_process_init.connect(weak=False)
def begin(**_more):
    """In each process of a pool."""
    set_up()


@app.task
def add(one, other):
    """Succeeds."""
    with trace.get_tracer("shop").start_as_current_span("inside"):
        return one + other


@app.task
def total(numbers):
    """Of a chord."""
    return sum(numbers)


@app.task
def fail():
    """Fails."""
    raise LookupError("no such item")


@app.task(bind=True, max_retries=2)
def again(self):
    """Succeeds the second time."""
    if self.request.retries == 0:
        raise self.retry(countdown=0.1)
    return "again"


@app.task(soft_time_limit=1)
def late():
    """Reaches its time limit."""
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            time.sleep(0.01)
    except SoftTimeLimitExceeded:
        return "limited"
    return "not limited"


def send():
    """Send each task, wait for all, print what they returned."""
    set_up()
    tracer, found = trace.get_tracer("shop"), {}
    with tracer.start_as_current_span("request"):
        sent = {"add": add.delay(1, 2), "fail": fail.delay(), "again": again.delay()}
        if os.environ.get("LIMITS"):
            sent["late"] = late.delay()
        sent["group"] = group(add.s(1, 1), add.s(2, 2)).apply_async()
        sent["chord"] = chord([add.s(1, 1), add.s(2, 2)], total.s()).apply_async()
        sent["by name"] = app.send_task("shop_app.add", (3, 4))
    for name, result in sent.items():
        found[name] = str(result.get(timeout=60, propagate=False))
    print(json.dumps(found))  # noqa: T201  # for the test


if __name__ == "__main__":
    # Not as `__main__`: the tasks have the module's name.
    sys.path.insert(0, str(Path(__file__).parent))
    import shop_app

    shop_app.send()
elif os.environ.get("POOL") not in (None, "prefork"):
    set_up()
