"""OpenLIT, which sets all providers."""

from __future__ import annotations

import openlit
from opentelemetry import trace
from setups import plain


def set_up(receiver: str) -> None:
    """Everything goes to `receiver`."""
    openlit.init(otlp_endpoint=receiver, application_name="vendors", environment="test", pricing_json="{}")


def use() -> None:
    """OpenLIT's own API."""

    @openlit.trace
    def decorated(text: str) -> str:
        trace.get_tracer("vendors.program").start_span("openlit: inside").end()
        return text.upper()

    decorated("why")
    with openlit.start_trace(name="openlit: manual") as manual:
        manual.set_result("yes")
        manual.set_metadata({"a": "b"})


def finish() -> None:
    """Send what is left."""
    plain.finish()
