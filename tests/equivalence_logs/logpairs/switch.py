"""Puts upstream's own functions in the place of our patches for a while, and ours back."""

from __future__ import annotations

from contextlib import contextmanager

import opentelemetry.exporter.otlp.proto.http._log_exporter
import opentelemetry.instrumentation.logging.handler
import opentelemetry.sdk._logs.export  # noqa: F401  # what is patched is there

from otel_fastpath.instrumentor import FastpathInstrumentor
from otel_fastpath.patching.patch import State

NAMES = {
    "logs.batch_on_emit",
    "logs.emit",
    "logs.handler_emit",
    "logs.handler_handle",
    "logs.instrumentation_emit",
    "logs.instrumentation_handle",
    "otlp.http_logs",
}


def applied():
    """The patches in place, in the order in which they were applied."""
    patcher = FastpathInstrumentor()._patches()
    return [each for each in patcher.installations.values() if each.state is State.APPLIED]


@contextmanager
def stock():
    """Upstream as it is, without what `uninstrument()` takes to come back from."""
    installations = applied()
    assert installations, "nothing is patched: both runs would be stock"
    for each in reversed(installations):
        each.swap.lift()
    try:
        yield
    finally:
        for each in installations:
            each.swap.lay()


@contextmanager
def fastpath(core):
    """The fast path with this core: "c" or "py"."""
    instrumentor = FastpathInstrumentor()
    instrumentor.instrument(core=core, exceptions="off")
    try:
        assert {each.patch.name for each in applied()} >= NAMES, instrumentor.status()
        yield
    finally:
        instrumentor.uninstrument()
