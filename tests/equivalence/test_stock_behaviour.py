"""What one might take for a fault of this package, and is the same with OpenTelemetry alone: see differences.toml."""

from __future__ import annotations

import logging
import os
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from wsgiref.util import setup_testing_defaults

import django
import flask
import free_threading
import pytest
from django.conf import settings
from django.http import StreamingHttpResponse
from django.test import Client, override_settings
from django.urls import path
from newer_releases import needs
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.django import DjangoInstrumentor
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware
from opentelemetry.sdk._logs import LoggerProvider, LogRecordProcessor
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

try:
    from opentelemetry.instrumentation.logging.handler import LoggingHandler
except ImportError:
    from opentelemetry.sdk._logs import LoggingHandler

pytestmark = pytest.mark.filterwarnings(
    "ignore:Inheritance class _InstrumentedApplication:DeprecationWarning", "ignore:.*LoggingHandler.*"
)
_tracer = None


@pytest.fixture
def both(instrumentor, core):
    """What a function returns without this package, and with it; they must be equal."""

    def compare(run):
        expected = run()
        instrumentor.instrument(core=core, disabled="exceptions")
        try:
            assert run() == expected
        finally:
            instrumentor.uninstrument()
        return expected

    return compare


def _chunks(*_args):
    yield b"first"
    with _tracer.start_as_current_span("in the stream"):
        yield b"second"


urlpatterns = [path("stream", lambda _request: StreamingHttpResponse(_chunks()))]


def _flask(tracers):
    app = flask.Flask("kept")
    app.route("/stream")(lambda: flask.Response(_chunks()))
    FlaskInstrumentor.instrument_app(app, tracer_provider=tracers)
    with app.test_client().get("/stream") as answer:
        return answer.get_data()


def _django(tracers):
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], MIDDLEWARE=[], LOGGING_CONFIG=None)
        django.setup()
    with override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[]):
        DjangoInstrumentor().instrument(tracer_provider=tracers)
        try:
            return b"".join(Client().get("/stream").streaming_content)
        finally:
            DjangoInstrumentor().uninstrument()


@pytest.mark.parametrize("serve", [_flask, _django])
def test_a_span_in_a_stream_has_no_parent(both, serve):
    """The request's span has ended before the body is sent."""

    def run():
        global _tracer  # the view's
        exporter, tracers = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        _tracer = tracers.get_tracer("stream")
        body = serve(tracers)
        return body, [(span.name, span.parent is None) for span in exporter.get_finished_spans()]

    body, spans = both(run)
    assert body == b"firstsecond"
    assert spans == [("GET /stream" if serve is _flask else "GET stream", True), ("in the stream", True)]


def test_the_target_of_wsgi_has_the_query_as_it_is(both):
    """Behind a server that gives a raw URI, in old conventions, also a value that is redacted in the URL."""

    def run():
        exporter, tracers = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
        tracers.add_span_processor(SimpleSpanProcessor(exporter))
        environ = {"RAW_URI": "/x?sig=SECRET", "QUERY_STRING": "sig=SECRET", "PATH_INFO": "/x"}
        setup_testing_defaults(environ)
        app = OpenTelemetryMiddleware(lambda _environ, start: start("200 OK", []) or [b"x"], tracer_provider=tracers)
        list(app(environ, lambda *_: None))
        return [dict(span.attributes)["http.target"] for span in exporter.get_finished_spans()]

    assert both(run) == ["/x?sig=SECRET"]


@contextmanager
def _redirecting(got):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            """Send the client elsewhere."""
            got.append(int(self.headers["Content-Length"]) > 0)
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args):
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/traces"
        finally:
            server.shutdown()
            thread.join()


@needs("opentelemetry-exporter-otlp-proto-http", "1.45", "the first that follows no redirect")
def test_a_batch_that_is_redirected_is_lost_as_success(both):
    """The redirect is not followed, and counts as success."""

    def run():
        got = []
        with _redirecting(got) as url:
            tracers = TracerProvider(shutdown_on_exit=False)
            exporter = OTLPSpanExporter(endpoint=url)
            results, export = [], exporter.export
            exporter.export = lambda spans: results.append(export(spans)) or results[-1]
            tracers.add_span_processor(SimpleSpanProcessor(exporter))
            tracers.get_tracer("redirected").start_span("lost").end()
            tracers.shutdown()
        return [result.name for result in results], got

    assert both(run) == (["SUCCESS"], [True])


class _Exporter(LogRecordExporter):
    """Logs what it has exported, by a logger whose handler serves the same provider, until it has exported enough."""

    def __init__(self, logger, most):
        self.batches = []
        self._logger = logger
        self._most = most

    def export(self, batch):
        """Log it."""
        self.batches.append([record.log_record.body for record in batch])
        if len(self.batches) < self._most:
            self._logger.warning("exported")

    def force_flush(self, timeout_millis=0):  # noqa: ARG002  # the interface
        """There is nothing to flush."""
        return True

    def shutdown(self):
        """Nor to close."""


def test_a_flush_exports_what_its_exporter_logs(both):
    """And what that export logs: it ends when the exporter stops."""

    def run():
        logger = logging.getLogger("exporting")
        logger.propagate = False
        exporter = _Exporter(logger, 20)
        provider = LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=3_600_000))
        handler = LoggingHandler(logger_provider=provider)
        logger.addHandler(handler)
        try:
            logger.warning("first")
            provider.force_flush()
        finally:
            logger.removeHandler(handler)
        return exporter.batches

    assert both(run) == [["first"], *[["exported"]] * 19]


class _Seeing(LogRecordProcessor):
    def __init__(self, record):
        self.found = []
        self._record = record

    def on_emit(self, log_record):
        """Keep what is seen."""
        seen = log_record.log_record
        self.found.append((seen is self._record, dict(seen.attributes), seen.observed_timestamp is not None))

    def force_flush(self, timeout_millis=0):  # noqa: ARG002  # the interface
        """There is nothing to flush."""
        return True

    def shutdown(self):
        """Nor to close."""


def test_a_record_that_is_emitted_as_it_is(both):
    """A processor gets the very object, with its limits applied."""

    def run():
        record = LogRecord(body={"a": [1]}, attributes={"k": [1, 2]})
        seeing, provider = _Seeing(record), LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(seeing)
        provider.get_logger("emitting").emit(record)
        return seeing.found

    assert both(run) == [(True, {"k": (1, 2)}, True)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
@free_threading.forks_among_threads
def test_a_child_that_is_forked_during_a_collection_cannot_collect(both):
    """The parent's thread, which the child does not have, holds the lock."""

    def run():
        provider = MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
        collecting, forked = threading.Event(), threading.Event()

        def observe(_options):
            collecting.set()
            forked.wait(30)
            return []

        provider.get_meter("kept").create_observable_gauge("gauge", [observe])
        thread = threading.Thread(target=provider.force_flush)
        thread.start()
        assert collecting.wait(30)
        child = os.fork()
        if child == 0:
            os._exit(provider._measurement_consumer._lock.acquire(timeout=0.2))
        forked.set()
        thread.join()
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert both(run) == 0
