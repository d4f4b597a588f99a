"""Profiles of the scenarios that exceed a limit: where the CPU time of their instrumented calls goes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget import blocks, measuring
from otel_fastpath.tools.budget.counting import processes
from otel_fastpath.tools.budget.counting.callables import ScenarioError
from otel_fastpath.tools.budget.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otel_fastpath.tools.budget.counting.callables import Running
    from otel_fastpath.tools.budget.declare import Declaration
    from otel_fastpath.tools.budget.results import BudgetReport

# How long a scenario is profiled: seconds of CPU time, and of time if it mostly waits.
_CPU_SECONDS: Final = 2.0
_SECONDS: Final = 10.0
# Samples in a second of CPU time. Many kernels take at most 250; a round number could keep step with the work.
_RATE: Final = 241.0
# The clock is read between blocks of this length.
_BLOCK_NS: Final = 20_000_000
_MOST_FUNCTIONS: Final = 12
_TELEMETRY: Final = "telemetry"
# The loop around the calls.
_HARNESS: Final = "otel_fastpath.tools.budget."


def of_failed(
    declaration: Declaration,
    report: BudgetReport,
    progress: Callable[[int, int, str], None] = lambda _done, _total, _text: None,
) -> dict[str, dict[str, Any]]:
    """Profile each scenario with a limit that failed, in a fresh process.

    Args:
        declaration: The project's declaration.
        report: The results.
        progress: Called with the steps done, the total and a text.

    Returns:
        Scenario -> what `measure` returned, or `{"error": the reason why there is no profile}`.
    """
    failed = list(dict.fromkeys(each.scenario for each in report.results if each.verdict is Verdict.FAIL))
    found = {}
    for done, name in enumerate(failed):
        progress(done, len(failed), f"profile of {name}")
        scenario = declaration.scenarios[name]
        job = processes.Job("profile", (scenario,), measuring.paths(declaration, compared=bool(report.base)))
        try:
            found[name] = processes.run(job)[name]
        except processes.WorkerError as error:
            found[name] = {"error": str(error)}
    progress(len(failed), len(failed), "")
    return found


def measure(running: Running) -> dict[str, Any]:
    """Profile the instrumented call of a scenario, in this process.

    Returns:
        The keys of `otel-fastpath profile --json`, and `functions`: those with the most CPU time of their own, each
        with its share, and with the hook that it is part of if it belongs to telemetry.

    Raises:
        ScenarioError: No profile can be taken here.
    """
    # Only where it is asked for.
    from otel_fastpath.profile import ProfileError, profiling  # noqa: PLC0415

    arm, plan = running.instrumented, replace(blocks.MeasurementPlan(), block_ns=_BLOCK_NS)
    blocks.warm(arm, plan)
    calls = blocks.calls_per_block(arm, plan)
    try:
        with profiling(_RATE) as profile:
            end, latest = process_time() + _CPU_SECONDS, monotonic() + _SECONDS
            while process_time() < end and monotonic() < latest:
                arm.block(calls)
    except ProfileError as error:
        raise ScenarioError(str(error)) from error
    found: dict[str, Any] = json.loads(profile.report.as_json())
    found["functions"] = _functions(profile.report.flame)
    return found


def _functions(flame: Any) -> list[dict[str, Any]]:
    own: Counter[tuple[str, str]] = Counter()
    for hook, function, seconds in _own_times(flame, ""):
        own[hook, function] += seconds  # type: ignore[assignment]
    return [
        {"function": function, "hook": hook, "share": seconds / flame.value}
        for (hook, function), seconds in own.most_common(_MOST_FUNCTIONS)
        if seconds > 0 and not function.startswith(_HARNESS)
    ]


def _own_times(node: Any, hook: str) -> Iterator[tuple[str, str, float]]:
    """The hook that a function is part of, the function, and the CPU time that it did not spend in what it called."""
    hook = (hook or node.name) if node.kind == _TELEMETRY else ""
    yield hook, node.name, node.value - sum(child.value for child in node.children)
    for child in node.children:
        yield from _own_times(child, hook)
