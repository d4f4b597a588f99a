"""OpenTelemetry's own providers and OTLP exporters over HTTP, which many vendors build on or stand beside."""

from __future__ import annotations

import logging

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def traces(receiver: str, *processors: object) -> None:
    """Set a tracer provider that exports to `receiver`, or use the one that is there; add these processors to it."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    provider = trace.get_tracer_provider()
    is_there = isinstance(provider, TracerProvider)
    if not is_there:
        provider = TracerProvider()
    for processor in processors:
        provider.add_span_processor(processor)
    if not is_there:
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{receiver}/v1/traces")))
        trace.set_tracer_provider(provider)


def meters(receiver: str) -> None:
    """Set a meter provider that exports to `receiver`, unless there is one."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{receiver}/v1/metrics"))
        metrics.set_meter_provider(MeterProvider([reader]))


def logs(receiver: str) -> None:
    """Send what is logged to `receiver`, or to where the provider that is there sends it."""
    from opentelemetry._logs import get_logger_provider, set_logger_provider
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    provider = get_logger_provider()
    if not isinstance(provider, LoggerProvider):
        provider = LoggerProvider()
        provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{receiver}/v1/logs")))
        set_logger_provider(provider)
    logging.getLogger().addHandler(LoggingHandler(logger_provider=provider))


def finish() -> None:
    """Export what is left of the global providers."""
    from opentelemetry._logs import get_logger_provider

    for provider in (trace.get_tracer_provider(), metrics.get_meter_provider(), get_logger_provider()):
        if hasattr(provider, "shutdown"):
            provider.shutdown()
