"""Runs calls with stock's hooks and with ours, and compares what they emit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from opentelemetry.instrumentation import _semconv

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["", "http", "http/dup"], ids=["old", "new", "both"])
def conventions(request, monkeypatch):
    """Each mode of the semantic conventions."""
    from opentelemetry.instrumentation._semconv import _OpenTelemetrySemanticConventionStability as Stability

    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", request.param)
    monkeypatch.setattr(Stability, "_initialized", False)
    monkeypatch.setattr(Stability, "_OTEL_SEMCONV_STABILITY_SIGNAL_MAPPING", {})
    return request.param


@pytest.fixture(autouse=True)
def old_conventions(monkeypatch):
    """The conventions are read again, as in a new process: an earlier test may have chosen others."""
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    _semconv._OpenTelemetrySemanticConventionStability._initialized = False


class Stopped:
    """A counter of active requests in which the signal arrives that asks the process to stop.

    Args:
        when: The amount that is added then.
    """

    def __init__(self, when):
        self._when = when

    def add(self, amount, *_args, **_kwargs):
        """Add to the number of active requests."""
        if amount == self._when:
            raise KeyboardInterrupt


@pytest.fixture(params=[1, -1], ids=["first", "last"])
def stopped(request):
    """A counter in which the signal arrives when a request begins, and one in which it does when it ends."""
    return Stopped(request.param)
