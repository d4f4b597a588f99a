"""The measuring process: reads one job, measures, and writes the result. `processes` starts a fresh one for each job.

Every task returns a dict for each scenario: its figures, or `{"error": message, "key": part of the declaration}`.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_fastpath.tools.budget import blocks, estimate
from otel_fastpath.tools.budget.counting import bytecodes, native, sides
from otel_fastpath.tools.budget.counting.callables import Arm, Running, ScenarioError, load
from otel_fastpath.tools.budget.limits import OF_BUILD
from otel_fastpath.tools.budget.reference import REFERENCES

if TYPE_CHECKING:
    from collections.abc import Callable

_PARTS = ("bare", "instrumented", "setup")


def main(job_file: str, result_file: str) -> None:
    """Do the job in one file, and write the result to the other."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    result = TASKS[job["task"]](job)
    Path(result_file).write_text(json.dumps(result), encoding="utf-8")


def _failed(error: ScenarioError) -> dict[str, Any]:
    return {"error": str(error), "key": error.key}


def _running(scenario: dict[str, Any]) -> Running:
    bare, instrumented, setup = (load(scenario[part], part) if scenario[part] else None for part in _PARTS)
    return Running(bare, instrumented, setup)  # type: ignore[arg-type]  # only the set-up can be missing


def _use_path(job: dict[str, Any]) -> None:
    sys.path[:0] = [*job["base"], *job["path"]]


def _check_base(folders: list[str]) -> None:
    """Check that something was imported from the base; otherwise head would be compared with itself.

    Raises:
        ScenarioError: Nothing was imported from the base.
    """
    files = [getattr(module, "__file__", None) or "" for module in tuple(sys.modules.values())]
    if folders and not any(file.startswith(tuple(f"{folder}{os.sep}" for folder in folders)) for file in files):
        raise ScenarioError(
            "base: the scenario imports nothing from it: is `source` the folder of the code under test?"
        )


def measure(running: Running, job: dict[str, Any]) -> dict[str, Any]:
    """Time bare, instrumented, reference and control, interleaved in this process."""
    reference = job["reference"]
    control = next(name for name in REFERENCES if name != reference)
    arms = {
        "bare": running.bare,
        "instrumented": running.instrumented,
        reference: Arm(REFERENCES[reference]),
        control: Arm(REFERENCES[control]),
    }
    times = blocks.interleave(arms, blocks.MeasurementPlan(**job["plan"]), job["seed"])
    return {**estimate.overhead(times, reference, control), "is_fast": _is_instrumented()}


def count(running: Running, job: dict[str, Any]) -> dict[str, Any]:
    """Take the requested exact counts."""
    found: dict[str, Any] = {"is_fast": _is_instrumented()}
    for metric in job["metrics"]:
        if metric == "bytecodes":
            found[metric] = bytecodes.total(bytecodes.bytecodes(running))
        elif metric == "calls":
            found[metric] = bytecodes.total(bytecodes.calls(running))
        elif metric == native.ALLOCATIONS:
            found[metric] = native.allocations(running, job["libraries"][metric])
        elif metric in OF_BUILD:
            native.dump_profiles(running, job["libraries"][metric], str(job["label"]))
        elif metric == "functions":
            found[metric] = [vars(each) for each in bytecodes.functions(running)]
    return found


def _time(job: dict[str, Any]) -> dict[str, Any]:
    _use_path(job)
    return {scenario["name"]: _use(scenario, lambda running: measure(running, job)) for scenario in job["scenarios"]}


def _profile(job: dict[str, Any]) -> dict[str, Any]:
    # Not where something is counted: what is loaded moves what is in memory.
    from otel_fastpath.tools.budget import profiles  # noqa: PLC0415

    _use_path(job)
    return {scenario["name"]: _use(scenario, profiles.measure) for scenario in job["scenarios"]}


def _count(job: dict[str, Any]) -> dict[str, Any]:
    """Count each scenario in a fork, so that none is affected by another, and modules are imported only once."""
    _use_path(job)
    result = {}
    for index, scenario in enumerate(job["scenarios"]):
        try:
            _running(scenario)
        except ScenarioError as error:
            result[scenario["name"]] = _failed(error)
            continue
        result[scenario["name"]] = _in_fork(functools.partial(_count_one, scenario, {**job, "label": index}))
    return result


def _count_one(scenario: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    def counted(running: Running) -> dict[str, Any]:
        _check_base(job["base"])
        return count(running, job)

    return _use(scenario, counted)


def _use(scenario: dict[str, Any], use: Callable[[Running], dict[str, Any]]) -> dict[str, Any]:
    try:
        with _running(scenario) as running:
            return use(running)
    except ScenarioError as error:
        return _failed(error)


def _is_instrumented() -> bool:
    """Whether otel-fastpath is active, which the set-up of the scenario decides."""
    module = sys.modules.get("otel_fastpath.instrumentor")
    return module is not None and bool(module.FastpathInstrumentor().is_instrumented_by_opentelemetry)


def _in_fork(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if not hasattr(os, "fork"):
        return call()
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with open(reader, encoding="utf-8") as pipe:  # noqa: PTH123  # a descriptor has no path
            text = pipe.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found: dict[str, Any] = json.loads(text) if text else {"error": f"its process ended with {status}", "key": ""}
        return found
    try:
        os.close(reader)
        with open(writer, "w", encoding="utf-8") as pipe:  # noqa: PTH123  # likewise
            json.dump(call(), pipe)
    except BaseException:  # the fork must not continue with its parent's code
        traceback.print_exc()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def _pair(job: dict[str, Any]) -> dict[str, Any]:
    (scenario,) = job["scenarios"]
    try:
        return {scenario["name"]: _regression(scenario, job)}
    except ScenarioError as error:
        return {scenario["name"]: _failed(error)}


def _regression(scenario: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    switch = sides.SideSwitch()
    opened: dict[str, Running] = {}
    owner: dict[str, sides.Side] = {}
    shared: dict[str, Any] = {}
    # Import in random order, as the blocks are: the side that is imported first may have the better place in memory.
    order = ["head", "base"] if job["seed"] % 2 else ["base", "head"]
    try:
        for name in order:
            path = job["path"] if name == "head" else [*job["base"], *job["path"]]
            owner[name] = switch.side(path, shared)
            switch.enter(owner[name])
            try:
                opened[name] = _running(scenario).__enter__()
            except ScenarioError as error:
                raise ScenarioError(f"{name}: {error}", error.key if name == "head" else "") from error
            _check_base(job["base"] if name == "base" else [])
            shared = sides.shareable(job["share"])
        arms = {f"{name}.{part}": getattr(opened[name], part) for name in ("head", "base") for part in _PARTS[:2]}

        def enter(arm: str) -> None:
            switch.enter(owner[arm.partition(".")[0]])
            arms[arm].block(1)

        times = blocks.interleave(arms, blocks.MeasurementPlan(**job["plan"]), job["seed"], enter)
        return estimate.regression(times)
    finally:
        for name, running in opened.items():
            switch.enter(owner[name])
            running.close()
        switch.leave()


TASKS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "time": _time,
    "count": _count,
    "pair": _pair,
    "profile": _profile,
}
