"""A plugin of pytest: the tests run with asyncpg wrapped, everything on."""


def pytest_configure():
    """Instrument before asyncpg is used."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider

    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(
        tracer_provider=TracerProvider(),
        meter_provider=MeterProvider([InMemoryMetricReader()]),
        asyncpg="on",
        asyncpg_options="acquire,parameters,rows",
    )
