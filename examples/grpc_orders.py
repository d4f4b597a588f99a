"""Calls of gRPC as OpenTelemetry's instrumentation records them: run it to see the spans.

python -m examples.grpc_orders

Client and server are in one process, and messages are bytes, so that no generated code is needed.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc
from opentelemetry import trace
from opentelemetry.instrumentation.grpc import GrpcInstrumentorClient, GrpcInstrumentorServer
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor


def charge(order: bytes, context: Any) -> bytes:
    """Answer, unless there is no such order."""
    if order == b"0":
        context.abort(grpc.StatusCode.INTERNAL, "no such order")
    return b"charged " + order


def track(order: bytes, _context: Any) -> Iterator[bytes]:
    """Answer with a stream."""
    yield b"packed " + order
    yield b"shipped " + order


def serve() -> tuple[Any, int]:
    """Start a server; return it and its port."""
    server = grpc.server(ThreadPoolExecutor(2))
    handlers = {
        "Charge": grpc.unary_unary_rpc_method_handler(charge),
        "Track": grpc.unary_stream_rpc_method_handler(track),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Orders", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def work() -> None:
    """Call the service as others do."""
    server, port = serve()
    with (
        trace.get_tracer("shop").start_as_current_span("order"),
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        call = channel.unary_unary("/shop.Orders/Charge")
        call(b"4711")
        with suppress(grpc.RpcError):
            call(b"0")
        list(channel.unary_stream("/shop.Orders/Track")(b"4711"))
    server.stop(None).wait()


def main() -> None:
    """Print each span below its parent."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    FastpathInstrumentor().instrument()
    instrumentors = GrpcInstrumentorClient(), GrpcInstrumentorServer()
    for each in instrumentors:
        each.instrument()
    work()
    for each in instrumentors:
        each.uninstrument()
    FastpathInstrumentor().uninstrument()
    spans = sorted(exporter.get_finished_spans(), key=lambda span: span.start_time or 0)
    depths: dict[Any, int] = {}
    for span in spans:
        depth = 1 + depths[span.parent.span_id] if span.parent else 0
        depths[span.context.span_id] = depth
        status = span.status.status_code.name if span.status.status_code.value > 1 else ""
        print(f"{'  ' * depth}{span.name}  {span.kind.name}  {status}".rstrip())


if __name__ == "__main__":
    main()
