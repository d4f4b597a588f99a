"""A count above its limit: which functions have grown since they were calibrated."""

from __future__ import annotations

import json

import pytest

from otel_fastpath.tools.budget import declare, growth
from otel_fastpath.tools.budget.calibration import Calibration
from otel_fastpath.tools.budget.results import Result, Verdict

LIMITS = 'bytecodes = "+2%"\ncalls = "+0%"'
# What is calibrated with these, once.
LOCK = []
COUNTED = ("--metrics", "bytecodes,calls")
GROWN = """
def helper():
    for _ in range(30):
        pass

def hooked():
    helper()
    for _ in range(41):
        pass
"""


@pytest.fixture
def calibrated(project):
    """A project whose hook has calibrated counts."""
    project.declare(LIMITS)
    lock = project.folder / "overhead-lock.toml"
    if not LOCK:
        assert project.calibrate(*COUNTED).returncode == 0
        LOCK.append(lock.read_text())
    lock.write_text(LOCK[0])
    return project


def test_what_grew_is_named(calibrated):
    """The function that is new, and the one that does more, with both numbers; and in the JSON."""
    calibrated.write("hooks.py", "def work():\n    pass\n" + GROWN)

    run = calibrated.check(*COUNTED, "--json", "result.json")

    assert run.returncode == 1
    assert "Functions that execute more bytecodes in hook than when it was calibrated" in run.stdout
    found = json.loads((calibrated.folder / "result.json").read_text())["functions"]["hook"]["functions"]
    assert [row["function"] for row in found] == ["helper (hooks.py)", "hooked (hooks.py)"]
    assert (found[0]["was"], found[1]["was"] < found[1]["now"]) == (None, True)


def test_lines_that_move_are_no_growth(calibrated):
    """A function is known by its name and file."""
    file = calibrated.folder / "hooks.py"
    calibrated.write("hooks.py", "# moved\n\n\n" + file.read_text())

    assert calibrated.check(*COUNTED).returncode == 0


def test_what_passes_counts_no_functions(calibrated):
    """Nothing is printed, and the JSON has none."""
    run = calibrated.check(*COUNTED, "--json", "result.json")

    assert "Functions" not in run.stdout
    assert json.loads((calibrated.folder / "result.json").read_text())["functions"] == {}


def test_without_recorded_functions_the_largest_are_named(project):
    """`functions = 0` records none; an absolute limit needs none."""
    project.declare('calls = "+0%"\nbytecodes = "<= 20"', settings="functions = 0\n")
    project.calibrate(*COUNTED)

    run = project.check(*COUNTED)

    assert "environment.functions" not in (project.folder / "overhead-lock.toml").read_text()
    assert "Functions with the most bytecodes in hook" in run.stdout
    assert "hooked (hooks.py)" in run.stdout


def test_what_grew_inside_of_c(calibrated):
    """If no recorded function executes more bytecodes, that is what is said: a smaller one may."""
    lock = calibrated.folder / "overhead-lock.toml"
    head, _, functions = lock.read_text().partition("[environment.functions.hook]")
    lock.write_text(head.replace("bytecodes = 1", "bytecodes = 0.1 # ") + "[environment.functions.hook]" + functions)

    run = calibrated.check(*COUNTED)

    assert run.returncode == 1
    assert "hook: none of the recorded functions executes more bytecodes than when it was calibrated" in run.stdout
    assert "what grew is in smaller ones, or inside C." in " ".join(run.stdout.split())


def test_calibrating_one_scenario_keeps_the_functions_of_the_others(project):
    """As it keeps their counts."""
    project.write("budgets.toml", "".join(project.scenario('bytecodes = "+2%"', name) for name in ("one", "two")))
    project.calibrate(*COUNTED)
    project.calibrate(*COUNTED, "--only", "two")

    text = (project.folder / "overhead-lock.toml").read_text()

    assert "[environment.functions.one]" in text
    assert "[environment.functions.two]" in text


def test_only_the_last_that_was_recorded_may_be_new(project):
    """With two functions recorded, a third one that is smaller may have been there."""
    project.declare('bytecodes = "+2%"')
    declaration = declare.read(project.folder / "budgets.toml")
    declaration = type(declaration)(**{**vars(declaration), "functions": 2})
    names = {f"{name} (hooks.py)": size for name, size in (("first", 50.0), ("second", 20.0))}
    known = Calibration("3.13", "", "", 1, "", "", "", "", functions={"hook": names})
    found = [
        {"name": name, "place": f"{project.folder}/hooks.py:1", "bytecodes": size, "calls": 1.0}
        for name, size in (("first", 60.0), ("new", 30.0), ("second", 20.0), ("third", 19.0))
    ]
    result = Result("hook", "bytecodes", "+2%", Verdict.FAIL)

    grown = growth.find_grown(declaration, known, [result], lambda _job, _folder: {"hook": {"functions": found}})

    assert grown["hook"].is_calibrated
    assert grown["hook"].functions == [
        {"function": "new (hooks.py)", "was": None, "now": 30.0},
        {"function": "first (hooks.py)", "was": 50.0, "now": 60.0},
    ]


@pytest.mark.parametrize("value", ["-1", "true", '"ten"', "1.5"])
def test_a_number_that_is_none(project, value):
    """One line with the value."""
    project.declare('calls = "<= 1"', settings=f"functions = {value}\n")

    run = project.check()

    assert run.returncode == 2
    assert f"functions = {value}: expected a number from 0 upwards" in run.stderr


def test_a_workflow_is_annotated(calibrated, monkeypatch):
    """At the line of the scenario, with what grew most."""
    calibrated.write("hooks.py", "def work():\n    pass\n" + GROWN)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(calibrated.folder))

    run = calibrated.check(*COUNTED, "--json", "-")

    declared = (calibrated.folder / "budgets.toml").read_text().splitlines()
    line = next(number for number, text in enumerate(declared, 1) if text.startswith("[scenarios"))
    [first, second] = [text for text in run.stderr.splitlines() if text.startswith("::error ")]
    assert first.startswith(f"::error file=budgets.toml,line={line},title=overhead budget::hook: bytecodes ")
    assert "limit +2%25 of" in first
    assert "helper (hooks.py): " in first
    assert second.startswith(f"::error file=budgets.toml,line={line},title=overhead budget::hook: calls ")
    json.loads(run.stdout)
