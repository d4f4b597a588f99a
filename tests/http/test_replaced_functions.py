"""Functions that other code has put into an instrumentation are called: its patch stands back."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest
import requests
from opentelemetry.instrumentation import requests as stock
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from requests.adapters import BaseAdapter

_DJANGO = "django.middleware.otel_middleware"


def _hidden(url):
    return url.partition("?")[0] + "?hidden"


@pytest.mark.parametrize(
    ("patch", "module", "function"),
    [
        ("requests.send", "requests", "redact_url"),
        ("requests.send", "requests", "sanitize_method"),
        ("urllib3.urlopen", "urllib3", "sanitize_method"),
        ("aiohttp_client.trace_config", "aiohttp_client", "redact_url"),
        ("httpx.sync", "httpx", "redact_url"),
        ("httpx.async", "httpx", "redact_url"),
        ("asgi.request", "asgi", "redact_url"),
        ("wsgi.request", "wsgi", "redact_url"),
        ("flask.before_request", "wsgi", "redact_url"),
        ("flask.before_request", "flask", "sanitize_method"),
        ("django.process_request", "wsgi", "redact_url"),
        ("django.process_request", _DJANGO, "sanitize_method"),
        ("aiohttp_server.request", "aiohttp_server", "redact_query_parameters"),
    ],
)
def test_a_patch_stands_back_for_a_replaced_function(instrumentor, monkeypatch, patch, module, function):
    """The status names the module that has replaced it."""
    importlib.import_module(f"opentelemetry.instrumentation.{patch.partition('.')[0]}")
    replaced = importlib.import_module(f"opentelemetry.instrumentation.{module}")
    monkeypatch.setattr(replaced, function, _hidden)
    instrumentor.instrument()
    row = next(row for row in instrumentor.status() if row.name == patch)
    assert (row.state.value, row.reason) == (
        "skipped",
        f"{replaced.__name__}:{function} is replaced already, by {__name__}",
    )


@pytest.mark.parametrize(
    ("patch", "module", "function"),
    [
        ("requests.send", "requests", "get_default_span_name"),
        ("urllib3.urlopen", "urllib3", "_get_span_name"),
        ("asgi.request", "asgi", "_parse_duration_attrs"),
        ("asgi.request", "asgi", "_parse_active_request_count_attrs"),
        ("wsgi.request", "wsgi", "_parse_duration_attrs"),
        ("wsgi.request", "wsgi", "_parse_active_request_count_attrs"),
    ],
)
def test_the_status_names_a_function_that_is_replaced_later(instrumentor, monkeypatch, patch, module, function):
    """And nothing any more when it is given back."""
    replaced = importlib.import_module(f"opentelemetry.instrumentation.{module}")
    instrumentor.instrument()

    def row():
        return next((row.state.value, row.reason) for row in instrumentor.status() if row.name == patch)

    assert row() == ("applied", "")
    with monkeypatch.context() as patched:
        patched.setattr(replaced, function, _hidden)
        reason = f"{replaced.__name__}:{function} is replaced already, by {__name__}: OpenTelemetry's own code runs"
        assert row() == ("applied", reason)
    assert row() == ("applied", "")


def test_the_status_names_a_function_that_is_called_for_each_request(instrumentor, monkeypatch):
    """The rest of the patch remains in force."""
    replaced = importlib.import_module("opentelemetry.instrumentation.asgi")
    monkeypatch.setattr(replaced, "collect_request_attributes", _hidden)
    instrumentor.instrument()
    row = next(row for row in instrumentor.status() if row.name == "asgi.request")
    place = f"{replaced.__name__}:collect_request_attributes"
    assert (row.state.value, row.reason) == (
        "applied",
        f"{place} is replaced already, by {__name__}: it is called for each request",
    )


class _Answering(BaseAdapter):
    def send(self, request, **_more):
        response = requests.Response()
        response.status_code, response.request, response.url, response._content = 200, request, request.url, b""
        response.raw = SimpleNamespace(version=11)
        return response

    def close(self):
        """There is nothing to close."""


@pytest.mark.parametrize("library", ["before", "after"], ids=lambda when: f"instrumented {when}")
def test_a_stricter_redaction_is_what_spans_show(instrumentor, core, monkeypatch, library):
    """And not what stock's own would have left."""
    monkeypatch.setattr(stock, "redact_url", _hidden)
    exporter, tracers = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    tracers.add_span_processor(SimpleSpanProcessor(exporter))
    if library == "after":
        instrumentor.instrument(core=core)
    instrumentor = stock.RequestsInstrumentor()
    instrumentor.instrument(tracer_provider=tracers)
    try:
        if library == "before":
            instrumentor.instrument(core=core)
        with requests.Session() as session:
            session.mount("http://", _Answering())
            session.get("http://shop.example/orders?token=of-the-shop")
    finally:
        instrumentor.uninstrument()
    [span] = exporter.get_finished_spans()
    assert span.attributes["http.url"] == "http://shop.example/orders?hidden"
