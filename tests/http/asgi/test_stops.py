"""An exception that asks the process to stop, in a method that a request of ASGI calls: nothing is left open."""

from __future__ import annotations

import asyncio

import pytest
from asgicheck import BODY, HOST, REMOTE, START, application, receive_empty, scope, send_nowhere
from opentelemetry import context, trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware


def test_a_stop_while_the_active_requests_are_counted(instrumented, recorded, stopped):
    """A KeyboardInterrupt reaches the server; the context is restored, and the span ends."""
    del instrumented

    async def silent(_scope, _receive, _send):
        """Send no last message, which would end the span before."""

    made = recorded()
    middleware = OpenTelemetryMiddleware(silent, **made.providers)
    middleware.active_requests_counter = stopped

    assert interrupted(middleware) == {}
    assert [(span[0], span[6]) for span in made.spans()] == [("GET /items/3", True)]


def test_a_stop_while_the_span_becomes_the_current_one(instrumented, recorded):
    """Likewise, and the request is no longer counted as active."""
    del instrumented

    class Span(trace.NonRecordingSpan):
        """A span of the user's own, in which the signal arrives."""

        asked = ended = 0

        def is_recording(self):
            """Whether it is."""
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            return True

        def end(self, end_time=None):
            """End it."""
            del end_time
            self.ended += 1

    class Tracer(trace.NoOpTracer):
        """A tracer of the user's own."""

        def start_span(self, *_args, **_kwargs):
            """Start the span."""
            return span

    span = Span(trace.SpanContext(1, 2, is_remote=False))
    made = recorded()
    middleware = OpenTelemetryMiddleware(application([START, BODY]), **made.providers)
    middleware.tracer = Tracer()

    assert interrupted(middleware) == {}
    assert (span.asked > 0, span.ended) == (True, 1)
    assert [point[5] for point in made.metrics() if point[1] == "http.server.active_requests"] == [0]


def interrupted(middleware):
    """The context after a request that a KeyboardInterrupt ends."""

    async def inside():
        with pytest.raises(KeyboardInterrupt):
            await middleware(scope(headers=[HOST, REMOTE]), receive_empty, send_nowhere)
        return dict(context.get_current())

    return asyncio.run(inside())
