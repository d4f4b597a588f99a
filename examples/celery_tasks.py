"""Tasks of Celery that are sent and run, as OpenTelemetry's instrumentation records them: run it to see the spans.

python -m examples.celery_tasks

The broker is Celery's own in memory, and the worker a thread, so that one process shows it all.
"""

from typing import Any

from celery import Celery
from celery.contrib.testing.worker import start_worker
from opentelemetry.instrumentation.celery import CeleryInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor

app = Celery("shop", broker="memory://", backend="cache+memory://")


@app.task(name="shop.charge")
def charge(order: int) -> str:
    """Succeed."""
    return f"charged {order}"


@app.task(name="shop.ship", bind=True, max_retries=1)
def ship(self: Any, order: int) -> str:
    """Succeed when it is sent again."""
    if not self.request.retries:
        raise self.retry(countdown=0, exc=ConnectionError("no carrier"))
    return f"shipped {order}"


def work(provider: TracerProvider) -> None:
    """What a web service does that sends tasks to a worker."""
    with (
        start_worker(app, perform_ping_check=False, loglevel="CRITICAL"),
        provider.get_tracer("shop").start_as_current_span("order"),
    ):
        for task in (charge, ship):
            task.delay(4711).get(timeout=30)


def main() -> None:
    """Print each span below its parent."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    FastpathInstrumentor().instrument()
    CeleryInstrumentor().instrument(tracer_provider=provider)
    work(provider)
    CeleryInstrumentor().uninstrument()
    FastpathInstrumentor().uninstrument()
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    depths: dict[Any, int] = {}
    for span in spans:
        depth = 1 + depths[span.parent.span_id] if span.parent else 0
        depths[span.context.span_id] = depth
        state = (span.attributes or {}).get("celery.state", "")
        print(f"{'  ' * depth}{span.name}  {state}".rstrip())


if __name__ == "__main__":
    main()
