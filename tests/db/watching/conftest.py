"""Libraries that are wrapped with an option of their own, beside real servers."""

from __future__ import annotations

import pytest


@pytest.fixture
def wrap_with(instrumentor, core, seen, no_faults):
    """Wrap libraries with options: `wrap_with(sqlite3="slow=1s")`; no fault of ours may come up during the test."""

    def instrument(telemetry="full", disabled="exceptions", **options):
        instrumentor.instrument(
            core=core,
            telemetry=telemetry,
            disabled=disabled,
            tracer_provider=seen.tracer_provider,
            meter_provider=seen.meter_provider,
            **{f"{library}_options": text for library, text in options.items()},
        )
        return seen

    yield instrument
    assert no_faults.counts() == {}


@pytest.fixture
def tracer(seen):
    """A tracer of the application's own."""
    return seen.tracer_provider.get_tracer("application")
