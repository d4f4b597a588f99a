"""SQLAlchemy as an application has it, wrapped by us with both cores in turn: on sqlite, or on a real PostgreSQL."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
from opentelemetry.instrumentation.sqlalchemy.engine import EngineTracer
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath.libraries.db.sqlalchemy import LIBRARY
from otel_fastpath.patching import interpreter
from otel_fastpath.patching.guard import Distributions, UnmetError

sys.path.insert(0, str(Path(__file__).parent))

from sqlalchemy_tables import METADATA, T


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
        """The names of those that ended since the last call."""
        return [span.name for span in self.spans()]

    def one(self):
        """The only span that ended since the last call."""
        (span,) = self.spans()
        return span

    def metrics(self):
        """Name -> its data points."""
        data = self._reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }


@pytest.fixture
def seen():
    """Where spans and metrics arrive."""
    return Seen()


@pytest.fixture
def wrap(instrumentor, core, seen, no_faults):
    """Wrap SQLAlchemy, with these options; no fault of ours may come up during the test."""

    def instrument(options="", telemetry="full", **settings):
        instrumentor.instrument(
            core=core,
            telemetry=telemetry,
            disabled="exceptions",
            sqlalchemy_options=options,
            tracer_provider=seen.tracer_provider,
            meter_provider=seen.meter_provider,
            **settings,
        )
        return seen

    yield instrument
    assert no_faults.counts() == {}


@pytest.fixture
def engine():
    """An engine on sqlite, in memory, with a table `t` of ten rows, made before it is wrapped."""
    made = sa.create_engine("sqlite://")
    with made.begin() as connection:
        METADATA.create_all(connection)
        connection.execute(T.insert(), [{"v": f"row {number}"} for number in range(1, 11)])
    yield made
    made.dispose()


@pytest.fixture
def url(database_url):
    """The URL of the PostgreSQL, for a driver: `url("asyncpg")`."""
    return lambda driver: sa.make_url(database_url).set(drivername=f"postgresql+{driver}")


@pytest.fixture
def official(monkeypatch):
    """The official instrumentor, as in a new process, which works with every release of SQLAlchemy."""
    (rival,) = LIBRARY.rivals
    try:
        Distributions(interpreter.installed).check(rival.emulated, any_version=False)
    except UnmetError as error:
        pytest.skip(f"ours stands back: {error}")
    SQLAlchemyInstrumentor._instance = None
    EngineTracer._remove_event_listener_params = []
    # What it would do if it did not refuse SQLAlchemy 2.1.
    monkeypatch.setattr(SQLAlchemyInstrumentor, "_check_dependency_conflicts", lambda _: None)
    made = SQLAlchemyInstrumentor()
    yield made
    if made.is_instrumented_by_opentelemetry:
        made.uninstrument()
    SQLAlchemyInstrumentor._instance = None
    gc.collect()
