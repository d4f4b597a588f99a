"""What the guard's own measuring costs: a small part of what it measures.

The counts are those of benchmarks/overhead-lock.toml, which budgets hold (`make budget`): instructions of the processor
for one call. A call that is timed costs much more than one that is counted; one of `EVERY` is timed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_fastpath.shedding.timing import EVERY
from otel_fastpath.tools.budget import calibration

LOCK = Path(__file__).parents[2] / "benchmarks" / "overhead-lock.toml"
REQUEST, SPAN, SENT = "ASGI request", "start_as_current_span", "otlp, one more span, 7 attributes"


def instructions(name, core):
    """Instructions of a scenario."""
    (found,) = (each for each in calibration.read(LOCK) if each.python == "3.13")
    return found.scenarios[f"{name}[{core}]"]["instructions"]


# A span that is nothing but a span, with the pure core: calling any Python function once more takes that much of it.
@pytest.mark.parametrize(
    ("what", "core", "most"),
    [("request", "c", 0.01), ("request", "py", 0.01), ("span", "c", 0.01), ("span", "py", 0.03)],
)
def test_measuring_costs_less_than_one_percent_of_what_is_measured(what, core, most):
    """Far below its limit, the guard only counts and times calls."""
    counted = instructions(f"guard, a {what} that is counted", core)
    timed = instructions(f"guard, a {what} that is timed", core)
    telemetry = instructions(REQUEST if what == "request" else SPAN, core) + instructions(SENT, core)

    assert (counted + timed / EVERY) / telemetry < most
