"""Sentry: by its span processor, and by its OTLP integration with and without the capture of exceptions."""

from __future__ import annotations

import os

import sentry_sdk
from opentelemetry.propagate import set_global_textmap
from setups import plain

VARIANT = os.environ["SENTRY_VARIANT"]


def set_up(receiver: str) -> None:
    """Errors, logs and spans go to Sentry; the span processor's spans also go out by OTLP, as does the rest."""
    dsn = receiver.replace("http://", "http://0123456789abcdef0123456789abcdef@") + "/1"
    options = {"dsn": dsn, "enable_logs": True, "release": "1.0", "default_integrations": True}
    plain.meters(receiver)
    if VARIANT == "processor":
        from sentry_sdk.integrations.opentelemetry import SentryPropagator, SentrySpanProcessor

        sentry_sdk.init(**options, instrumenter="otel", traces_sample_rate=1.0)
        plain.traces(receiver, SentrySpanProcessor())
        set_global_textmap(SentryPropagator())
        return
    from sentry_sdk.integrations.otlp import OTLPIntegration

    sentry_sdk.init(**options, integrations=[OTLPIntegration(capture_exceptions=VARIANT == "otlp-exceptions")])


def use() -> None:
    """Sentry's own API inside OpenTelemetry's spans."""
    from opentelemetry import trace

    with trace.get_tracer("vendors.program").start_as_current_span("sentry: own"):
        sentry_sdk.capture_message("a message")
        try:
            raise ValueError("captured")  # noqa: TRY301  # caught on purpose
        except ValueError as error:
            sentry_sdk.capture_exception(error)


def finish() -> None:
    """Send what is left."""
    plain.finish()
    sentry_sdk.flush(5)
