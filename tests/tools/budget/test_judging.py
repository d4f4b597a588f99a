"""What a count above its limit means: a fault, another Python, or where things happened to lie in memory."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from otel_fastpath.tools.budget import calibration, checks, declare, measuring
from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.judging import Judge
from otel_fastpath.tools.budget.results import Verdict

METRIC = "instructions"


@pytest.fixture
def declared(project):
    """A hook with a relative limit for everything that is counted, and its calibration."""
    declaration = declare.read(project.declare('bytecodes = "+2%"\ninstructions = "+2%"\ncalls = "<= 3"'))
    here = calibration.here(declaration)
    here.scenarios["hook"] = {"bytecodes": 100.0, METRIC: 1000.0}
    return declaration, here


def verdict(declared, metric, value, **changes):
    """What is said of a count, calibrated somewhere that differs in this."""
    declaration, here = declared
    judge = Judge(here, dataclasses.replace(here, **changes))
    (limit,) = [limit for limit in declaration.scenarios["hook"].limits if limit.metric == metric]
    return judge.of_count("hook", limit, measuring.Counted({"hook": {metric: value}}), None)


def test_a_count_above_its_limit_fails(declared):
    """The same Python, the same versions: it is the code."""
    assert verdict(declared, "bytecodes", 102.0).verdict is Verdict.PASS
    assert verdict(declared, "bytecodes", 103.0).verdict is Verdict.FAIL
    assert verdict(declared, METRIC, 1021.0).verdict is Verdict.FAIL


def test_on_another_release_of_python_it_is_inconclusive(declared):
    """A pass is one there, too; an absolute limit holds everywhere."""
    result = verdict(declared, "bytecodes", 103.0, release="3.0.1")

    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reason.startswith("calibrated on Python 3.0.1, this is 3.")
    assert verdict(declared, "bytecodes", 102.0, release="3.0.1").verdict is Verdict.PASS
    assert verdict(declared, "calls", 4.0, release="3.0.1").verdict is Verdict.FAIL


@pytest.mark.parametrize("changes", [{"interpreter": "another build"}, {"tools": "another compiler"}])
def test_on_another_build_instructions_are_not_measured(declared, changes):
    """They would differ without any fault; the other counts hold."""
    assert verdict(declared, METRIC, 1021.0, **changes).verdict is Verdict.NOT_MEASURED
    assert verdict(declared, METRIC, 900.0, **changes).verdict is Verdict.NOT_MEASURED
    assert verdict(declared, "bytecodes", 103.0, **changes).verdict is Verdict.FAIL


def test_a_hook_that_saves_work_has_room_as_well(declared):
    """Two per cent of a negative count are more, not less."""
    declared[1].scenarios["hook"]["bytecodes"] = -100.0

    assert verdict(declared, "bytecodes", -100.0).verdict is Verdict.PASS
    assert verdict(declared, "bytecodes", -98.0).verdict is Verdict.PASS
    assert verdict(declared, "bytecodes", -97.0).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("later", "expected", "value"),
    [
        ([1000, 1100, 1010, 1010, 1005], Verdict.PASS, 1010),
        ([1100, 1100, 1030, 1090, 1000], Verdict.FAIL, 1090),
    ],
)
def test_instructions_above_their_limit_are_counted_again(declared, monkeypatch, later, expected, value):
    """With other hash seeds, so that everything lies elsewhere; the median of those counts decides."""
    declaration, here = declared
    calibration.write(declaration.lock, [here])
    left, seeds = [1100, *later], []

    def run(job, profiles):
        if profiles:
            seeds.append(job.seed)
            for arm, instructions in (("bare", 0), ("instrumented", left.pop(0))):
                text = f"desc: Trigger: Client Request: {arm} 0\nthread: 1\nsummary: {instructions * native.CALLS}\n"
                (profiles / f"profile.{arm}").write_text(text)
        return {"hook": {}}

    monkeypatch.setattr(native, "build", lambda kind, folder: folder / kind)
    report = checks.check(declaration, checks.Options(metrics=frozenset({METRIC}), run=run))

    (result,) = report.results
    assert (result.verdict, result.value) == (expected, value)
    assert not left
    assert len(set(seeds)) == 6


@pytest.mark.parametrize(("metrics", "has_own"), [({"bytecodes", "calls"}, False), ({"calls", METRIC}, True)])
def test_what_depends_on_memory_has_bytecode_of_its_own(declared, monkeypatch, metrics, has_own):
    """There, it would matter whether modules are compiled; elsewhere, to compile them takes most of the time."""
    folders = []

    def run(job, _profiles):
        folders.append(job.bytecode)
        return {"hook": {}}

    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(native, "build", lambda kind, folder: folder / kind)
    checks.check(declared[0], checks.Options(metrics=frozenset(metrics), run=run))

    assert {bool(folder) for folder in folders} == {has_own}
