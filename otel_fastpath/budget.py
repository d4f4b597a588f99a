"""Overhead budgets: how much telemetry may cost, declared, measured and enforced."""

from __future__ import annotations

from otel_fastpath.tools.budget.calibration import Calibration
from otel_fastpath.tools.budget.checks import Options, calibrate, check
from otel_fastpath.tools.budget.counting.callables import async_nothing, nothing
from otel_fastpath.tools.budget.declare import Declaration, DeclarationError, Scenario, read
from otel_fastpath.tools.budget.results import BudgetReport as Report
from otel_fastpath.tools.budget.results import Result, Verdict

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
