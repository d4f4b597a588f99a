"""Overhead budgets: how much telemetry may cost. They are declared, measured and enforced here.

The names below are loaded on first use, because pytest imports this package in every project that has it installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_fastpath.budget.calibration import Calibration
    from otel_fastpath.budget.callables import async_nothing, nothing
    from otel_fastpath.budget.checks import Options, calibrate, check
    from otel_fastpath.budget.declare import Declaration, DeclarationError, Scenario, read
    from otel_fastpath.budget.results import BudgetReport as Report
    from otel_fastpath.budget.results import Result, Verdict

__all__ = [
    "Calibration",
    "Declaration",
    "DeclarationError",
    "Options",
    "Report",
    "Result",
    "Scenario",
    "Verdict",
    "async_nothing",
    "calibrate",
    "check",
    "nothing",
    "read",
]

_HOMES = {
    "Calibration": "calibration",
    "Declaration": "declare",
    "DeclarationError": "declare",
    "Options": "checks",
    "Report": "results:BudgetReport",
    "Result": "results",
    "Scenario": "declare",
    "Verdict": "results",
    "async_nothing": "callables",
    "calibrate": "checks",
    "check": "checks",
    "nothing": "callables",
    "read": "declare",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module  # noqa: PLC0415  # see the module's docstring

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home, _, kept = _HOMES[name].partition(":")
    value = getattr(import_module(f"{__name__}.{home}"), kept or name)
    globals()[name] = value
    return value
