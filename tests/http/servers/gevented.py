"""Serves concurrent clients with gevent and the WSGI middleware, and prints what the spans say.

python -m gevent.monkey gevented.py CORE, with "" for the stock middleware alone.
"""

import json
import sys
import urllib.request

import gevent
import gevent.pywsgi
from opentelemetry import context, trace
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import FastpathInstrumentor
from otel_fastpath.patching import faults

CLIENTS = 40
CALLS = 5

core = sys.argv[1]
if core:
    FastpathInstrumentor().instrument(core=core, disabled="exceptions")
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = trace.get_tracer("app", tracer_provider=provider)


def app(environ, start_response):
    """Answer in turns with other greenlets, with spans of its own on the way."""
    number = int(environ["PATH_INFO"].strip("/"))
    gevent.sleep(number % 3 * 0.001)
    if number % 7 == 0:
        raise ValueError(number)
    with tracer.start_as_current_span(f"handle {number}"):
        gevent.sleep(number % 2 * 0.001)
    start_response("200 OK", [("Content-Type", "text/plain")])

    def body():
        for chunk in range(2):
            gevent.sleep(number % 3 * 0.001)
            with tracer.start_as_current_span(f"chunk {number}.{chunk}"):
                yield b"%d;" % number

    return body()


def call(client):
    """Make some calls, each with a trace of its own."""
    for number in range(client * CALLS + 1, (client + 1) * CALLS + 1):
        url = f"http://127.0.0.1:{server.server_port}/{number}"
        headers = {"traceparent": f"00-{number:032x}-{number:016x}-01"}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
                outcomes.append((number, answer.read().decode()))
        except OSError as error:
            outcomes.append((number, error.code))


outcomes = []
middleware = OpenTelemetryMiddleware(app, tracer_provider=provider)
server = gevent.pywsgi.WSGIServer(("127.0.0.1", 0), middleware, log=None, error_log=None)
server.start()
gevent.joinall([gevent.spawn(call, client) for client in range(CLIENTS)], raise_error=True)
server.stop()

spans = exporter.get_finished_spans()
names = {span.context.span_id: span.name for span in spans}
OF_A_CONNECTION = {"net.peer.port", "net.host.port"}
rows = [
    (
        span.context.trace_id,
        span.name,
        span.kind.name,
        names.get(span.parent.span_id, span.parent.span_id) if span.parent else None,
        sorted((key, value) for key, value in span.attributes.items() if key not in OF_A_CONNECTION),
        span.status.status_code.name,
        [event.attributes["exception.type"] for event in span.events],
    )
    for span in spans
]
told = json.dumps([sorted(outcomes), sorted(rows), not context.get_current(), faults.counts()])
sys.stdout.write(told.replace(f":{server.server_port}", ":port"))
