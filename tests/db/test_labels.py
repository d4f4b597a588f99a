"""Names that an application makes up without end: the number of series is bounded, and spans have the names."""

from __future__ import annotations

import sqlite3

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_fastpath import left_out
from otel_fastpath.db import query_plans
from otel_fastpath.wrapping import labels

DURATION = "db.client.operation.duration"


@pytest.fixture(autouse=True)
def counted():
    """Counts begin at zero."""
    left_out.forget()


@pytest.fixture
def few(monkeypatch):
    """Few sets of labels are enough for a test."""
    monkeypatch.setattr(labels, "MOST_SETS", 20)
    monkeypatch.setattr(labels, "MOST_SERVERS", 5)


@pytest.fixture
def wrapped(instrumentor, core, few):  # noqa: ARG001  # a fixture cannot use `usefixtures`
    """Our own telemetry of sqlite3; gives the exporter and a function that reads the labels of a metric's series."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracer_provider = TracerProvider(shutdown_on_exit=False)
    tracer_provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(
        core=core,
        telemetry="full",
        sqlite3="on",
        tracer_provider=tracer_provider,
        meter_provider=MeterProvider([reader], shutdown_on_exit=False),
    )

    def series(name=DURATION):
        [of_resource] = reader.get_metrics_data().resource_metrics
        found = [metric for scope in of_resource.scope_metrics for metric in scope.metrics if metric.name == name]
        return [(dict(point.attributes), point.count) for metric in found for point in metric.data.data_points]

    return exporter, series


def test_tables_without_end_are_one_series(wrapped, logged):
    """The durations of all queries are recorded; those beyond the limit without the summary, which spans have."""
    exporter, series = wrapped
    connection = sqlite3.connect(":memory:")
    for number in range(100):
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(f"SELECT * FROM table{number}")  # noqa: S608  # a name of the application's
    connection.execute("SELECT 1")
    connection.close()

    found = series()

    assert len(found) <= 2 * labels.MOST_SETS + 2
    assert sum(count for _, count in found) >= 101
    names = {span.attributes.get("db.query.summary") for span in exporter.get_finished_spans()}
    assert {f"SELECT table{number}" for number in range(100)} <= names
    (kind,) = left_out.counts()
    assert kind == "db.query.summary of sqlite3's metrics"
    assert [line.partition(". ")[0] for line in logged()] == [f"Left out: {kind}"]


def test_files_without_end_are_one_server(wrapped, tmp_path):
    """As for a database for each tenant."""
    _, series = wrapped
    for number in range(50):
        connection = sqlite3.connect(tmp_path / f"{number}.db")
        connection.execute("SELECT 1")
        connection.close()

    names = {labels.get("db.namespace", labels.get("server.address")) for labels, _ in series()}

    assert 1 < len(names) <= labels.MOST_SERVERS + 1
    assert left_out.counts()


def test_labels_are_kept_up_to_the_limit():
    """Known sets stay as they are, new ones lose the names of queries, and then those of servers."""
    made = labels.Labels("x", query_plans._OF_QUERIES, query_plans._OF_SERVERS)
    most = labels.MOST_SETS

    for _ in range(2):
        for number in range(most):
            given = {"db.system.name": "x", "db.operation.name": str(number)}
            assert made.bounded(given) == given
    assert left_out.counts() == {}
    assert made.bounded({"db.system.name": "x", "db.operation.name": "new"}) == {"db.system.name": "x"}
    for number in range(labels.MOST_SERVERS):
        given = {"db.system.name": "x", "db.namespace": str(number)}
        assert made.bounded(given) == given
    assert made.bounded({"db.system.name": "x", "db.namespace": "new"}) == {"db.system.name": "x"}
    assert left_out.counts() == {"db.operation.name of x's metrics": 1, "db.namespace of x's metrics": 1}
