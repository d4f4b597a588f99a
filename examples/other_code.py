"""Replace a method of the SDK's spans, and add a processor: both are called, and the rest stays fast.

Run it with `python -m examples.other_code`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from otel_fastpath import FastpathInstrumentor

if TYPE_CHECKING:
    from collections.abc import Callable


class Printing(SpanProcessor):
    """Prints the attributes of each span that ends."""

    def on_end(self, span: ReadableSpan) -> None:
        """Print them."""
        print(span.name, dict(span.attributes or {}))


def redacting(set_attribute: Callable[..., None]) -> Callable[..., None]:
    """Make a replacement for `Span.set_attribute` that leaves secrets out, around the method that is in place now."""

    def redacted(span: Span, key: str, value: Any) -> None:
        set_attribute(span, key, "***" if "password" in key else value)

    return redacted


def main() -> None:
    """Set an attribute with the method replaced, and without."""
    FastpathInstrumentor().instrument()
    provider = TracerProvider()
    provider.add_span_processor(Printing())
    tracer = provider.get_tracer("example")

    replaced = mock.patch.object(Span, "set_attribute", redacting(Span.set_attribute))
    with replaced, tracer.start_as_current_span("replaced") as span:
        span.set_attribute("user.password", "hunter2")
    with tracer.start_as_current_span("put back") as span:
        span.set_attribute("user.name", "ann")


if __name__ == "__main__":
    main()
