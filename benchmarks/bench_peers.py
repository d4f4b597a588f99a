"""A span in other tracing libraries: Sentry, ddtrace and Logfire compared with stock OpenTelemetry and fastpath.

    make bench NAME=peers

Each library is set up as in its documentation, in a separate process, and sends nothing: finished spans are dropped
where they would be passed to the network. A library that is not installed has no figures.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ATTRIBUTES: dict[str, Any] = {
    "http.request.method": "GET",
    "url.scheme": "http",
    "server.address": "localhost",
    "server.port": 8000,
    "http.route": "/items/{item_id}",
    "http.response.status_code": 200,
    "network.protocol.version": "1.1",
}
NAME = "GET /items/{item_id}"


class Given:
    """The common interface to a library.

    Attributes:
        root: Makes a context manager for a trace of one span.
        attributed: The same with seven attributes.
        child: A span inside another span.
    """

    def __init__(
        self,
        root: Callable[[], AbstractContextManager[Any]],
        attributed: Callable[[], AbstractContextManager[Any]],
        child: Callable[[], AbstractContextManager[Any]] | None = None,
    ) -> None:
        self.root = root
        self.attributed = attributed
        self.child = child or root


def stock() -> Given:
    """Unpatched OpenTelemetry."""
    from bench_span import stock as given  # noqa: PLC0415  # imported only if it is measured

    return _opentelemetry(given().tracer)


def fastpath() -> Given:
    """OpenTelemetry with otel-fastpath, with the compiled core if it was built."""
    from bench_span import compiled, pure  # noqa: PLC0415  # likewise

    try:
        return _opentelemetry(compiled().tracer)
    except RuntimeError:
        return _opentelemetry(pure().tracer)


def _opentelemetry(tracer: Any) -> Given:
    return Given(
        lambda: tracer.start_as_current_span(NAME),
        lambda: tracer.start_as_current_span(NAME, attributes=ATTRIBUTES),
    )


def sentry() -> Given:
    """Sentry's SDK: a transaction is a root span."""
    import sentry_sdk  # noqa: PLC0415  # likewise
    from sentry_sdk.transport import Transport  # noqa: PLC0415  # likewise

    class Drop(Transport):
        def capture_envelope(self, envelope: Any) -> None:
            pass

    sentry_sdk.init(dsn="http://key@localhost:1/1", traces_sample_rate=1.0, transport=Drop, default_integrations=False)

    def attributed() -> Any:
        transaction = sentry_sdk.start_transaction(op="http.server", name=NAME)
        for key, value in ATTRIBUTES.items():
            transaction.set_data(key, value)
        return transaction

    return Given(
        lambda: sentry_sdk.start_transaction(op="http.server", name=NAME),
        attributed,
        lambda: sentry_sdk.start_span(op="http.server", name=NAME),
    )


def ddtrace() -> Given:
    """Datadog's tracer."""
    os.environ.update(DD_INSTRUMENTATION_TELEMETRY_ENABLED="false", DD_REMOTE_CONFIGURATION_ENABLED="false")
    from ddtrace.trace import tracer  # noqa: PLC0415  # likewise

    class Drop:
        def write(self, spans: Any = None) -> None:
            pass

        def flush_queue(self) -> None:
            pass

        def stop(self, timeout: Any = None) -> None:
            pass

    tracer._span_aggregator.writer = Drop()

    def attributed() -> Any:
        span = tracer.trace(NAME)
        span.set_tags(ATTRIBUTES)
        return span

    return Given(lambda: tracer.trace(NAME), attributed)


def logfire() -> Given:
    """Pydantic's Logfire, on top of the OpenTelemetry SDK."""
    import logfire as library  # noqa: PLC0415  # likewise

    library.configure(send_to_logfire=False, console=False, inspect_arguments=False)
    return Given(lambda: library.span(NAME, item_id=1), lambda: library.span(NAME, item_id=1, **ATTRIBUTES))


def nothing(given: Given) -> None:
    """The bare call."""


def span(given: Given) -> None:
    """A trace of one span."""
    with given.root():
        pass


def span_7_attributes(given: Given) -> None:
    """The same with seven attributes."""
    with given.attributed():
        pass


def parent_and_child(given: Given) -> None:
    """A span in a span; bare is `span`."""
    with given.root(), given.child():
        pass


ROWS = {
    "span": (nothing, span),
    "span, 7 attributes": (nothing, span_7_attributes),
    "child span": (span, parent_and_child),
}

if __name__ == "__main__":
    from table import main

    libraries = ("sentry", "ddtrace", "logfire")
    distributions = ("sentry-sdk", "ddtrace", "logfire")
    sys.exit(main("A span in other libraries", "bench_peers", ROWS, ("stock", "fastpath", *libraries), distributions))
