"""What the tests of every database share."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import own_metrics
from otel_fastpath.compiled import load
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.sources.guard import Distributions, UnmetError

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def scan(core):
    """The function under test, of each core."""
    return load("db.queries.sql", core).scan


# Folder -> the libraries that its tests use besides its own.
BESIDES = {
    "cassandra_driver": ("sqlalchemy",),
    "sqlalchemy": ("asyncpg", "mysqlclient", "psycopg", "psycopg2", "pymysql", "redis", "sqlite3"),
}


class Seen:
    """Where spans and metrics arrive.

    Attributes:
        tracer_provider: For an instrumentor.
        meter_provider: Likewise.
        started: The number of spans that were started.
    """

    def __init__(self):
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.started = 0
        self.tracer_provider = TracerProvider()
        processor = SimpleSpanProcessor(self._exporter)
        on_start = processor.on_start

        def counted(*args, **kwargs):
            self.started += 1
            on_start(*args, **kwargs)

        processor.on_start = counted
        self.tracer_provider.add_span_processor(processor)
        self.meter_provider = MeterProvider([self._reader])

    def spans(self):
        """Those that ended since the last call."""
        found = self._exporter.get_finished_spans()
        self._exporter.clear()
        return found

    def names(self):
        """Those of the spans that ended since the last call."""
        return [span.name for span in self.spans()]

    def one(self):
        """The only span that ended since the last call."""
        (span,) = self.spans()
        return span

    def metrics(self):
        """Name -> its data points, but for those about this package."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            if scope.scope.name != own_metrics.PATCHES
            for metric in scope.metrics
        }


@pytest.fixture
def seen():
    """Where spans and metrics arrive."""
    return Seen()


@pytest.fixture
def library(request):
    """The name of the wrapper: that of the folder of the tests."""
    return request.path.parent.name


@pytest.fixture
def libraries(request):
    """The library itself and those that its tests use besides; all of them in tests of what they share."""
    folder = request.path.parent.name
    if folder in {"db", "dbapi", "watching"}:
        return None
    return (request.getfixturevalue("library"), *BESIDES.get(folder, ()))


@pytest.fixture
def wrap(instrumentor, core, seen, no_faults, library):
    """Wrap the library; no fault of ours may come up during the test."""

    def instrument(options="", telemetry="full", **settings):
        instrumentor.instrument(
            core=core,
            telemetry=telemetry,
            disabled="exceptions",
            **{f"{library}_options": options},
            tracer_provider=seen.tracer_provider,
            meter_provider=seen.meter_provider,
            **settings,
        )
        return seen

    yield instrument
    assert no_faults.counts() == {}


@pytest.fixture
def prepared():
    """What `look` needs on the server, if anything."""


@pytest.fixture
def run_both(run):
    """`run` for each kind of connection in turn, if there are several."""
    return run


def _look(wrap, run):
    def call(function, options="", **settings):
        seen = wrap(options)

        def main(connection):
            seen.spans()
            return function(connection)

        run(main, **settings)
        return seen

    return call


@pytest.fixture
def look(prepared, wrap, run):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Run a function with a connection, once wrapped; gives what was seen, without the connect."""
    return _look(wrap, run)


@pytest.fixture
def look_both(prepared, wrap, run_both):  # noqa: ARG001  # likewise
    """The same for both kinds of connections: the function calls one method, and returns what that returns."""
    return _look(wrap, run_both)


@pytest.fixture
def look_async(prepared, wrap, run_async):  # noqa: ARG001  # likewise
    """The same for an asynchronous connection."""
    return _look(wrap, run_async)


@pytest.fixture
def look_at_table(prepared, run):  # noqa: ARG001  # likewise
    """`run` with what `look` needs on the server."""
    return run


@pytest.fixture
def stock_instrumentor(library):
    """The stock instrumentor, as in a new process."""
    module = pytest.importorskip(f"opentelemetry.instrumentation.{library}")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, BaseInstrumentor)]
    (kind,) = (kind for kind in kinds if kind is not BaseInstrumentor)
    kind._instance = None
    made = kind()
    yield made
    if made.is_instrumented_by_opentelemetry:
        made.uninstrument()
    kind._instance = None


@pytest.fixture(params=["", "database", "database/dup"])
def opt_in_value(request):
    """Each value of OTEL_SEMCONV_STABILITY_OPT_IN that most stock instrumentations know."""
    return request.param


@pytest.fixture
def opt_in(opt_in_value, monkeypatch):
    """The value of OTEL_SEMCONV_STABILITY_OPT_IN, which is set."""
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opt_in_value)
    stability = _OpenTelemetrySemanticConventionStability
    monkeypatch.setattr(stability, "_initialized", False)
    monkeypatch.setattr(stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
    yield opt_in_value
    stability._initialized = False


@pytest.fixture
def seen_of():
    """Returns what is compared of a span."""

    def compared(span):
        scope = span.instrumentation_scope
        return (
            *(span.name, span.kind.name, dict(span.attributes), span.status.status_code.name),
            *(scope.name, scope.version, scope.schema_url, [event.name for event in span.events]),
        )

    return compared


@pytest.fixture
def emulated():
    """Skips the test if a library's wrapper stands back, because another release of stock's is installed."""

    def check(library):
        (rival,) = library.rivals
        try:
            for each in rival.emulated:
                Distributions(interpreter.installed).check(each, any_version=False)
        except UnmetError as error:
            pytest.skip(f"ours stands back: {error}")

    return check


@pytest.fixture
def in_its_place(emulated, library):
    """Skips the test if this library's wrapper stands back, likewise."""
    emulated(importlib.import_module(f"otel_fastpath.db.{library}").LIBRARY)


@pytest.fixture(params=["ours", "stock's"])
def comments(request, wrap, seen):
    """Comments are added: the option of ours, or stock's argument, with ours in its place."""
    if request.param == "ours":
        wrap("sqlcommenter")
        return
    request.getfixturevalue("in_its_place")
    stock_instrumentor = request.getfixturevalue("stock_instrumentor")
    wrap(telemetry="same")
    stock_instrumentor.instrument(
        tracer_provider=seen.tracer_provider, enable_commenter=True, enable_attribute_commenter=True
    )
