"""Programs that send telemetry to their vendors' own addresses: run with the name of one of the functions."""
# each needs its own package

from __future__ import annotations

import sys

HOST = "telemetry.example.com"
ADDRESS = "192.0.2.77"


def provider(exporter):
    """A tracer of the SDK with this exporter, which exports at once."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made.get_tracer("shop")


def logfire():
    """A token of Logfire, and its own address."""
    import logfire

    advanced = logfire.AdvancedOptions(base_url=f"https://{HOST}")
    logfire.configure(token="pylf_v1_us_0123456789", advanced=advanced, console=False, inspect_arguments=False)  # noqa: S106  # nobody's
    logfire.info("hello")
    logfire.force_flush()


def sentry():
    """An event and a transaction."""
    import sentry_sdk

    sentry_sdk.init(f"https://public@{HOST}/1", traces_sample_rate=1.0)
    sentry_sdk.capture_message("hello")
    sentry_sdk.flush(5)


def azure():
    """Its exporter asks Azure's metadata service, too."""
    from azure.monitor.opentelemetry.exporter import AzureMonitorTraceExporter

    key = f"InstrumentationKey=00000000-0000-0000-0000-000000000000;IngestionEndpoint=https://{HOST}/"
    provider(AzureMonitorTraceExporter(connection_string=key)).start_span("hello").end()


def ddtrace():
    """Its writer is in Rust; the agent is on another host."""
    import os

    os.environ.update(DD_TRACE_AGENT_URL=f"http://{ADDRESS}:8126", DD_TRACE_ENABLED="true")
    from ddtrace.trace import tracer

    tracer.trace("hello").finish()
    tracer.flush()
    tracer.shutdown(5)


def ddtrace_agent():
    """The agent is on this machine, where it passes everything on."""
    import os

    os.environ.update(DD_TRACE_AGENT_URL="http://127.0.0.1:8126")
    from ddtrace.trace import tracer

    tracer.trace("hello").finish()
    tracer.flush()
    tracer.shutdown(5)


def datadog():
    """OpenTelemetry's own exporter for Datadog."""
    from opentelemetry.exporter.datadog import DatadogExporter, DatadogExportSpanProcessor
    from opentelemetry.sdk.trace import TracerProvider

    made = TracerProvider()
    made.add_span_processor(DatadogExportSpanProcessor(DatadogExporter(f"http://{ADDRESS}:8126", service="shop")))
    made.get_tracer("shop").start_span("hello").end()
    made.shutdown()


def grpc():
    """OTLP over gRPC, whose sockets are those of a library in C."""
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    provider(OTLPSpanExporter(f"https://{HOST}:4317", timeout=2)).start_span("hello").end()


def otlp():
    """OTLP over HTTP, to an address in the code."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider(OTLPSpanExporter(f"https://{HOST}/v1/traces", timeout=2)).start_span("hello").end()


def zipkin():
    """Zipkin's JSON."""
    from opentelemetry.exporter.zipkin.json import ZipkinExporter

    provider(ZipkinExporter(endpoint=f"http://{ADDRESS}:9411/api/v2/spans")).start_span("hello").end()


def prometheus():
    """Prometheus' remote write."""
    from opentelemetry.exporter.prometheus_remote_write import PrometheusRemoteWriteMetricsExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    exporter = PrometheusRemoteWriteMetricsExporter(endpoint=f"http://{ADDRESS}:9090/api/v1/write")
    made = MeterProvider([PeriodicExportingMetricReader(exporter)])
    made.get_meter("shop").create_counter("orders").add(1)
    made.shutdown()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
