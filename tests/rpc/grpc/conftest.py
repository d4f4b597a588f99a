"""What the tests of gRPC's calls share: servers on loopback, what is called, and what was emitted."""

from __future__ import annotations

import re
import time

import pytest
from opentelemetry.instrumentation.grpc import (
    _aio_client,
    _aio_server,
    _client,
    _server,
    aio_client_interceptors,
    aio_server_interceptor,
    client_interceptor,
    server_interceptor,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from stock_in_place import stock_in_place

from otel_fastpath.rpc.grpc.patches import PATCHES

# Of the modules of stock's interceptors.
NAMES = tuple(module.__name__ for module in (_client, _aio_client, _server, _aio_server))
PLACES = {patch.name: patch.target for patch in PATCHES}


@pytest.fixture
def ours(instrumented, no_faults):
    """The functions of stock are this package's; there must be no fault."""
    assert set(states(instrumented).values()) == {("applied", "")}
    yield instrumented
    assert no_faults.counts() == {}


def states(instrumentor):
    """The patches', by name."""
    return {row.name: (row.state.value, row.reason) for row in instrumentor.status() if row.name in PLACES}


def stock_functions():
    """Stock's own functions are in their places meanwhile."""
    return stock_in_place(PLACES.values())


class Telemetry:
    """A provider, and what arrived."""

    def __init__(self, is_batched=False, **given):
        self.spans = InMemorySpanExporter()
        self.tracers = TracerProvider(shutdown_on_exit=False, **given)
        self.tracers.add_span_processor((BatchSpanProcessor if is_batched else SimpleSpanProcessor)(self.spans))

    def client(self, tracers=None, **given):
        """An interceptor of a client."""
        return client_interceptor(tracers or self.tracers, **given)

    def server(self, tracers=None, **given):
        """An interceptor of a server."""
        return server_interceptor(tracers or self.tracers, **given)

    def aio_client(self, tracers=None, **given):
        """The interceptors of a client of asyncio."""
        return aio_client_interceptors(tracers or self.tracers, **given)

    def aio_server(self, tracers=None, **given):
        """An interceptor of a server of asyncio."""
        return aio_server_interceptor(tracers or self.tracers, **given)

    def wait_for(self, count):
        """Wait until so many spans have ended: those of servers, and of futures, may end later."""
        until = time.monotonic() + 5
        while len(self.finished()) < count and time.monotonic() < until:
            time.sleep(0.002)

    def finished(self):
        """The spans that have ended."""
        self.tracers.force_flush()
        return self.spans.get_finished_spans()

    def seen(self):
        """The spans, without ids, times, the frames of stack traces and the port of a client."""
        spans = sorted(self.finished(), key=lambda span: (span.start_time, span.kind.value))
        numbers = {span.context.span_id: number for number, span in enumerate(spans)}
        found = [
            (
                span.name,
                span.kind,
                (span.status.status_code, shown("status", span.status.description)),
                [(key, shown(key, value)) for key, value in span.attributes.items()],
                span.dropped_attributes,
                [
                    (event.name, [(key, shown(key, value)) for key, value in event.attributes.items()])
                    for event in span.events
                ],
                span.parent and (numbers.get(span.parent.span_id, "elsewhere"), span.parent.is_remote),
                str(span.instrumentation_scope),
            )
            for span in spans
        ]
        self.tracers.shutdown()
        return found


def shown(key, value):
    """A value without what differs from call to call, and from one's frames to the other's."""
    if key == "net.peer.port":
        return "port"
    if key == "exception.stacktrace":
        return value.strip().splitlines()[-1]
    if isinstance(value, str):
        # gRPC says either.
        value = re.sub(r"Stream removed \(Deadline Exceeded\)", "Deadline Exceeded", value)
    return re.sub(r"0x[0-9a-f]+|127\.0\.0\.1:\d+|\[::1\]:\d+", "here", value) if isinstance(value, str) else value
