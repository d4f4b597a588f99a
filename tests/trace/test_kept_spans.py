"""What starts spans is told to those who listen, whoever comes first."""

from __future__ import annotations

import pytest

from otel_fastpath.trace.context import kept_spans
from otel_fastpath.trace.context.kept_spans import TracerPatch


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No starter and no listener of this process's own."""
    monkeypatch.setattr(kept_spans, "listeners", [])
    before = []
    kept_spans.listen(before.append)
    kept_spans.listeners.clear()
    kept_spans.put(TracerPatch())
    yield
    kept_spans.listeners.clear()
    kept_spans.put(before[0])


def test_a_listener_hears_what_is_there_and_what_comes():
    """A library may be wrapped before the SDK is imported or after."""
    early, late = [], []
    kept_spans.listen(early.append)
    kept_spans.put(TracerPatch("py", "Tracer"))
    kept_spans.listen(late.append)
    kept_spans.put(TracerPatch("py"))

    assert early == [TracerPatch(), TracerPatch("py", "Tracer"), TracerPatch("py")]
    assert late == [TracerPatch("py", "Tracer"), TracerPatch("py")]


def test_a_listener_hears_the_newest_last():
    """Also where another thread puts one while it is told of the one before."""
    heard = []

    def listener(starter):
        if starter.tracer_class == "first" and len(heard) == 1:
            kept_spans.put(TracerPatch("py", "second"))
        heard.append(starter.tracer_class)

    kept_spans.listen(listener)
    kept_spans.put(TracerPatch("py", "first"))

    assert heard == [None, "second", "first", "second"]
