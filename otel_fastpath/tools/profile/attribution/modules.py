"""Which code is telemetry, by the name of its module."""

from __future__ import annotations

import functools
import sys
from typing import Final

from otel_fastpath.features import LIBRARIES

# Who a frame belongs to: telemetry; the standard library and helpers, which belong to whoever calls them; the rest.
TELEMETRY: Final = "telemetry"
NEUTRAL: Final = "neutral"
APPLICATION: Final = "application"

_OURS: Final = "otel_fastpath"
# What runs and profiles a program is no telemetry of it.
_HARNESS: Final = f"{_OURS}.tools."
# The way of what was recorded: the processors, exporters, samplers and callbacks it was given are telemetry.
_PIPELINE: Final = (
    *(f"opentelemetry.{name}" for name in ("exporter", "processor", "sdk")),
    *(f"{_OURS}.{name}" for name in ("logs", "metrics", "otlp", "trace.spans.ending", "trace.planning")),
)
_INSTRUMENTATION: Final = "opentelemetry.instrumentation."
# Module -> title; the longest that fits counts. Other people's instrumentations are known by these names.
_TITLES: Final = {
    "azure.monitor.opentelemetry": "Azure Monitor",
    "ddtrace": "Datadog",
    "elasticapm": "Elastic APM",
    "fastapi.telemetry": "FastAPI's own telemetry",
    "google.cloud.opentelemetry": "Google Cloud exporter",
    "langfuse": "Langfuse",
    "logfire": "Logfire",
    "newrelic": "New Relic",
    "openinference": "OpenInference",
    "opentelemetry": "OpenTelemetry API",
    "opentelemetry.exporter": "OpenTelemetry exporter",
    "opentelemetry.instrumentation": "OpenTelemetry instrumentation",
    "opentelemetry.propagators": "propagation",
    "opentelemetry.proto": "OpenTelemetry exporter",
    "opentelemetry.sdk": "OpenTelemetry SDK",
    "opentelemetry.sdk._logs": "SDK: logs",
    "opentelemetry.sdk.metrics": "SDK: metrics",
    "opentelemetry.sdk.trace": "SDK: spans",
    "opentelemetry.trace.propagation": "propagation",
    "opentelemetry.util.genai": "OpenAI instrumentation",
    "opentelemetry.util.http": "HTTP instrumentation",
    "otel_fastpath": "otel-fastpath",
    "otel_fastpath.exceptions": "otel-fastpath: exceptions",
    "otel_fastpath.logs": "otel-fastpath: logs",
    "otel_fastpath.metrics": "otel-fastpath: metrics",
    "otel_fastpath.otlp": "otel-fastpath: OTLP",
    "otel_fastpath.trace": "otel-fastpath: spans",
    "sentry_sdk": "Sentry",
    "traceloop": "Traceloop",
}
# How libraries write their names.
_LIBRARIES: Final = {
    "aiohttp_client": "aiohttp client",
    "aiohttp_server": "aiohttp server",
    "asgi": "ASGI",
    "django": "Django",
    "fastapi": "FastAPI",
    "flask": "Flask",
    "genai": "OpenAI",
    "grpc": "gRPC",
    "openai": "OpenAI",
    "openai_v2": "OpenAI",
    "redis": "Redis",
    "sqlalchemy": "SQLAlchemy",
    "wsgi": "WSGI",
}
# The folders of libraries, and what they share.
_OF_LIBRARIES: Final = tuple(f"{_OURS}.{name}." for name in ("db", "genai", "http", "wrapping"))
_FOLDERS: Final = frozenset(tuple(part.place.split(".")[:2]) for part in LIBRARIES.parts)
# What instrumentations use to wrap a method is as neutral as the standard library.
_NEUTRAL: Final = frozenset({"wrapt", "importlib_metadata", "typing_extensions", "zipp"})


@functools.cache
def kind(module: str) -> str:
    """Who the code of a module belongs to.

    Args:
        module: Its dotted name.
    """
    top = module.partition(".")[0]
    if module.startswith(_HARNESS):
        return NEUTRAL
    if title(module):
        return TELEMETRY
    if top in sys.stdlib_module_names or top in _NEUTRAL or top in {"", "_frozen_importlib"}:
        return NEUTRAL
    return APPLICATION


@functools.cache
def is_pipeline(module: str) -> bool:
    """Whether telemetry's code is of its own pipeline, which calls nothing of the application's.

    Args:
        module: Its dotted name.
    """
    return any(module == name or module.startswith(f"{name}.") for name in _PIPELINE)


@functools.cache
def title(module: str) -> str:
    """The name for people of the telemetry that a module is part of; empty if it is none."""
    if module.startswith(_INSTRUMENTATION):
        return f"{_library(module[len(_INSTRUMENTATION) :].partition('.')[0])} instrumentation"
    if module.startswith(_OF_LIBRARIES):
        return f"otel-fastpath: {_our_library(module)}"
    parts = module.split(".")
    for count in range(len(parts), 0, -1):
        found = _TITLES.get(".".join(parts[:count]))
        if found:
            return found
    return ""


def _library(name: str) -> str:
    return _LIBRARIES.get(name, name)


def _our_library(module: str) -> str:
    """`otel_fastpath.db.asyncpg.hooks` -> asyncpg; what databases share -> db."""
    _, folder, library, *_ = module.split(".")
    if folder == "wrapping":
        return "calls"
    return _library(library if (folder, library) in _FOLDERS else folder)
