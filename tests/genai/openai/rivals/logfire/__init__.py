"""A stand-in for Logfire 5.2: it instruments the client of OpenAI in the same way, and does nothing else."""

from __future__ import annotations

import openai
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider


def configure(*, additional_span_processors, **_settings):
    """Set the global tracer provider."""
    provider = TracerProvider(shutdown_on_exit=False)
    for processor in additional_span_processors:
        provider.add_span_processor(processor)
    trace.set_tracer_provider(provider)


def instrument_openai(client=None, *, suppress_other_instrumentation=True):
    """Instrument the classes, or this client."""
    from logfire._internal.integrations.llm_providers.llm_provider import instrument_llm_provider

    return instrument_llm_provider(
        trace.get_tracer("logfire.openai"),
        client or (openai.OpenAI, openai.AsyncOpenAI),
        suppress_other_instrumentation,
        "OpenAI",
    )
