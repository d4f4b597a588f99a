"""A plugin of pytest: the tests run with libraries wrapped, as the OTEL_FASTPATH_* settings of the environment say."""


def pytest_configure():
    """Instrument before the library is used."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider

    from otel_fastpath import FastpathInstrumentor

    FastpathInstrumentor().instrument(
        tracer_provider=TracerProvider(), meter_provider=MeterProvider([InMemoryMetricReader()])
    )


def pytest_unconfigure():
    """Say which faults of ours there were."""
    from otel_fastpath.patching import faults

    for place, number in faults.counts().items():
        print(f"\nfault: {place}: {number}")  # noqa: T201  # the program that runs this reads it
