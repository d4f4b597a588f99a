"""A request's span ends although a time limit arrives just before it does."""

from __future__ import annotations

import pytest
from opentelemetry import trace

from otel_fastpath.http.servers import activations
from otel_fastpath.wrapping.starting import end_span


class Span(trace.NonRecordingSpan):
    """A span that counts how often it is ended."""

    ended = 0

    def is_recording(self):
        """Whether it has not ended."""
        return not self.ended

    def end(self, end_time=None):
        """End it."""
        del end_time
        self.ended += 1


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_a_time_limit_while_a_span_ends(monkeypatch, is_late):
    """It reaches the host, and the span ends once."""
    limits = [TimeoutError("of a signal handler")]

    def interrupted(span, place):
        if is_late or not limits:
            end_span(span, place)
        if limits:
            raise limits.pop()

    monkeypatch.setattr(activations, "end_span", interrupted)
    activation = activations.Activation()
    activation.span = span = Span(trace.INVALID_SPAN_CONTEXT)
    with pytest.raises(TimeoutError):
        activation.leave(None)

    assert span.ended == 1
