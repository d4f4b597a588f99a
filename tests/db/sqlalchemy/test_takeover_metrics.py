"""In the place of the stock instrumentation: its metric of connections."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy_tables import USAGE, usage


def test_its_metric_is_reported(stock_instrumentor, wrap, seen, tmp_path):
    """Under its name, with its values."""

    def run():
        engine = sa.create_engine(f"sqlite:///{tmp_path}/file.db")
        with engine.connect(), engine.connect() as second:
            second.close()
            found = usage(seen)
        engine.dispose()
        return found

    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, meter_provider=seen.meter_provider)
    expected = run()
    stock_instrumentor.uninstrument()
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, meter_provider=seen.meter_provider)

    assert run() == expected
    assert set(expected.values()) == {1}
    assert "db.client.operation.duration" not in seen.metrics()


def test_its_metric_is_observed(stock_instrumentor, wrap, seen, tmp_path):
    """When metrics are collected: there are no exemplars, and no points of a pool that was disposed of."""
    wrap(telemetry="same")
    stock_instrumentor.instrument(tracer_provider=seen.tracer_provider, meter_provider=seen.meter_provider)
    engine = sa.create_engine(f"sqlite:///{tmp_path}/file.db")

    with seen.tracer_provider.get_tracer("test").start_as_current_span("request"):
        connection = engine.connect()
    with connection:
        points = seen.metrics()[USAGE]
    engine.dispose()

    assert points
    assert not any(point.exemplars for point in points)
    assert usage(seen) == {}
