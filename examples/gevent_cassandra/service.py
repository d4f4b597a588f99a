"""The service, in a process of its own: it creates users and prints what that took, a line of JSON for each latency.

python -m gevent.monkey examples/gevent_cassandra/service.py MODE USERS POOL LATENCY:PORT...
"""

import json
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

from gevent.pool import Pool
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

# gevent's reactor is deprecated by the driver's current release, and is the one that works under gevent.
warnings.simplefilter("ignore", DeprecationWarning)

MODES = ("bare", "stock", "fastpath")


class Counting(SpanExporter):
    """Counts the spans of Cassandra, and the traces that they are in."""

    def __init__(self) -> None:
        self.spans = 0
        self.traces: set[int] = set()

    def forget(self) -> None:
        """Begin to count again."""
        self.spans = 0
        self.traces.clear()

    def export(self, spans: "Sequence[ReadableSpan]") -> SpanExportResult:
        """Count them."""
        for span in spans:
            if span.kind is trace.SpanKind.CLIENT and span.context is not None:
                self.spans += 1
                self.traces.add(span.context.trace_id)
        return SpanExportResult.SUCCESS


def telemetry(mode: str) -> Counting:
    """Set the telemetry up that this mode has; returns where the spans arrive."""
    arrived = Counting()
    if mode == "bare":
        return arrived
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(arrived, max_queue_size=100_000, schedule_delay_millis=1000))
    trace.set_tracer_provider(provider)
    if mode == "stock":
        from opentelemetry.instrumentation.cassandra import CassandraInstrumentor  # noqa: PLC0415  # only in this mode

        CassandraInstrumentor().instrument()
    else:
        from otel_fastpath import FastpathInstrumentor  # noqa: PLC0415  # likewise

        FastpathInstrumentor().instrument(cassandra="on", gevent="on")
    return arrived


def one_by_one(create: "Callable[[int], Any]", users: int, _size: int) -> None:
    """Create the users one after the other."""
    for number in range(users):
        create(number)


def in_a_pool(create: "Callable[[int], Any]", users: int, size: int) -> None:
    """Create the users in a pool of greenlets."""
    Pool(size).map(create, range(users))


def main(mode: str, users: int, size: int, ports: "Mapping[int, int]") -> None:
    """Measure each way with each latency."""
    arrived = telemetry(mode)
    from cassandra.cluster import Cluster  # noqa: PLC0415  # as in a service, once it is instrumented

    for latency, port in ports.items():
        with Cluster(["127.0.0.1"], port=port, protocol_version=4) as cluster:
            session = cluster.connect("shop", wait_for_all_pools=True)
            statement = session.prepare("INSERT INTO users (id, name) VALUES (?, ?)")

            def create(number: int, session: Any = session, statement: Any = statement) -> None:
                session.execute(statement, (str(number), f"user {number}"))

            for way in (one_by_one, in_a_pool):
                _flush()
                arrived.forget()
                wall, cpu = time.perf_counter(), time.process_time()
                with trace.get_tracer("service").start_as_current_span(way.__name__):
                    way(create, users, size)
                took = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
                _flush()
                found = {"mode": mode, "latency": latency, "way": way.__name__, **took}
                print(json.dumps({**found, "spans": arrived.spans, "traces": len(arrived.traces)}), flush=True)


def _flush() -> None:
    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flush()


if __name__ == "__main__":
    given = [each.partition(":") for each in sys.argv[4:]]
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), {int(latency): int(port) for latency, _, port in given})
