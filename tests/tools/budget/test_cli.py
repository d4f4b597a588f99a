"""The commands, from outside: what they print, what they write, and what they end with."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from otel_fastpath.tools.budget.outputs import one_of

GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t")
SLOWER = "def work():\n    pass\n\ndef hooked():\n    for _ in range(60):\n        pass\n"


def lines(text):
    """Rows of the table, by scenario and metric."""
    return [line for line in text.splitlines() if line.startswith("hook ")]


def test_budgets_that_hold(project):
    """Status 0, a row for each limit, a summary."""
    project.declare('calls = "<= 3"\nbytecodes = "<= 200"\noverhead = ["1 ref", "900 us"]')

    run = project.check()

    assert (run.returncode, run.stderr) == (0, "")
    assert [line.split()[1] for line in lines(run.stdout)] == ["overhead", "overhead", "bytecodes", "calls"]
    assert "3 pass, 1 information in" in run.stdout


def test_a_budget_that_is_exceeded(project):
    """Status 1, and the row says fail."""
    project.declare('bytecodes = "<= 20"')

    run = project.check()

    assert run.returncode == 1
    assert "<= 20" in lines(run.stdout)[0]
    assert "fail" in lines(run.stdout)[0]


def test_a_timed_budget_that_is_exceeded(project):
    """It fails as well, after twice as many processes."""
    project.declare('overhead = "0.001 ref"')

    run = project.check("--json", "-")

    (result,) = json.loads(run.stdout)["results"]
    assert run.returncode == 1
    assert result["verdict"] == "fail"
    assert len(result["estimates"]) == 2
    assert result["low"] > 0.001


HOOK = """
from opentelemetry.sdk.trace import TracerProvider

tracer = TracerProvider().get_tracer("shop")

def work():
    pass

def hooked():
    with tracer.start_as_current_span("order"):
        pass
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer of CPU time")
def test_what_fails_is_profiled(project):
    """With --profile, a table says in which functions the CPU time of its call goes; what holds is not profiled."""
    project.write("hooks.py", HOOK)
    project.declare('calls = "<= 1"')
    with (project.folder / "budgets.toml").open("a") as file:
        file.write('[scenarios.held]\nbare = "hooks:work"\ninstrumented = "hooks:hooked"\ncalls = "<= 999"\n')

    run = project.check("--profile", "--json", "r.json")

    profiles = json.loads((project.folder / "r.json").read_text())["profiles"]
    assert run.returncode == 1, run.stderr
    assert "Profile of hook: Telemetry takes " in run.stdout
    # Before Python 3.11, code objects do not know their class.
    named = "opentelemetry.sdk.trace.Span" if sys.version_info >= (3, 11) else "opentelemetry.sdk.trace.start_span"
    assert named in run.stdout
    assert list(profiles) == ["hook"]
    assert profiles["hook"]["share"]["direct"] > 0.5
    assert 0.5 < sum(each["share"] for each in profiles["hook"]["functions"]) <= 1.001


def test_without_a_failure_nothing_is_profiled(project):
    """The report says so."""
    project.declare('calls = "<= 3"')

    run = project.check("--profile")

    assert run.returncode == 0
    assert "No limit failed, so nothing was profiled." in run.stdout


def test_a_profile_that_cannot_be_taken_is_a_line(project):
    """Such as where something else uses the signal; the verdicts stand."""
    taken = "import signal\nsignal.signal(signal.SIGPROF, print)\n"
    project.write("hooks.py", taken + SLOWER)
    project.declare('bytecodes = "<= 20"')

    run = project.check("--profile")

    assert run.returncode == 1
    assert "hook: no profile: this process has a handler for SIGPROF already" in run.stdout


def test_nothing_measured(project):
    """Status 4: a hook that raises is no regression, and no pass; its error is in the row."""
    project.declare('calls = "<= 3"\noverhead = "1 ref"', instrumented="broken")

    run = project.check()

    assert run.returncode == 4
    assert all("not measured  instrumented raised ValueError: no such item (" in each for each in lines(run.stdout))
    assert "hooks.py:" in run.stdout


def test_strict_lets_only_passes_through(project):
    """A relative limit without a calibrated value is not measured: 0, or 4 with --strict."""
    project.declare('calls = "<= 3"\nbytecodes = "+2%"')

    assert project.check().returncode == 0
    run = project.check("--strict")

    assert run.returncode == 4
    assert "run `otel-fastpath budget calibrate`" in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "none"), "--only none: expected one of hook, or a pattern"),
        (("--metrics", "calls,seconds"), "--metrics seconds: expected some of regression,overhead,bytecodes"),
        (("--base", "no-such"), "no-such: expected a folder, a wheel or a git ref"),
        (("--json", "no/such/folder.json"), "--json no/such/folder.json: No such file or directory"),
    ],
)
def test_usage(project, arguments, message):
    """Status 2 and one line."""
    project.declare('calls = "<= 3"')

    run = project.check(*arguments)

    assert run.returncode == 2
    assert run.stderr.startswith(f"otel-fastpath: {message}")
    assert run.stderr.count("\n") == 1


def test_a_mistake_in_the_declaration(project):
    """So is that; it can be a callable that is not there."""
    file = project.declare('calls = "<= 3"', instrumented="hoked")

    run = project.check()

    assert run.returncode == 2
    assert run.stderr == (
        f'otel-fastpath: {file}: scenarios.hook.instrumented = "hooks:hoked": expected an importable callable, async '
        "if and only if bare is; AttributeError: module 'hooks' has no attribute 'hoked'\n"
    )


def test_no_declaration(project):
    """The message says what was looked for, and where."""
    run = project.run("budget", "check")

    assert run.returncode == 2
    assert "upwards has a table [tool.otel-fastpath.budgets]; name a file with --file" in run.stderr


def test_the_nearest_pyproject_is_taken(project):
    """From a folder below it too; async hooks are measured like others."""
    project.write(
        "pyproject.toml",
        """
        [tool.otel-fastpath.budgets.scenarios.hook]
        bare = "hooks:async_work"
        instrumented = "hooks:async_hooked"
        bytecodes = "<= 200"
        """,
    )
    (project.folder / "below").mkdir()
    project.folder /= "below"

    run = project.run("budget", "check")

    assert (run.returncode, run.stderr) == (0, "")


def test_calibrating_and_holding(project):
    """What was calibrated holds; one bytecode in fifty more does not; the lock is next to the declaration."""
    project.declare('bytecodes = "+2%"\ncalls = "+0%"\noverhead = "+20%"')

    run = project.run("budget", "calibrate", "--file", "budgets.toml", "--processes", "1", "--cycles", "50")
    assert (run.returncode, run.stderr) == (0, "")
    assert "4 values of 1 scenarios for Python 3." in run.stdout
    assert re.search(r"^hook: bytecodes \d+ \(new\)$", run.stdout, re.MULTILINE)
    assert "bytecodes = " in (project.folder / "overhead-lock.toml").read_text()
    assert project.check("--metrics", "bytecodes,calls", "--strict").returncode == 0

    project.write("hooks.py", SLOWER)
    run = project.check("--metrics", "bytecodes,calls", "--strict")
    assert run.returncode == 1
    assert [line.split()[-1] for line in lines(run.stdout)] == ["fail", "pass"]
    *_, note, _summary, advice = run.stdout.splitlines()
    assert note.startswith("otel-fastpath was not active: ")
    assert advice.startswith("where the cost is: otel-fastpath budget explain --file ")
    assert project.run(*shlex.split(advice)[5:]).returncode == 0

    run = project.run("budget", "calibrate", "--file", "budgets.toml", "--metrics", "bytecodes,calls")
    assert re.search(r"^hook: bytecodes \d+ \(was \d+\)$", run.stdout, re.MULTILINE)
    assert "1 values are as they were" in run.stdout


def test_the_report_knows_a_scenario_with_otel_fastpath(project):
    """By the process that measured it, in counts and in times."""
    set_up = (
        "def fast():\n    from otel_fastpath import FastpathInstrumentor\n    FastpathInstrumentor().instrument()\n"
    )
    project.write("hooks.py", (project.folder / "hooks.py").read_text() + set_up)
    for limit in ('calls = "<= 3"', 'overhead = "90 ref"'):
        project.declare(f'setup = "hooks:fast"\n{limit}')

        assert "otel-fastpath was active in every scenario." in project.check().stdout.splitlines()


def test_what_was_not_measured_is_not_calibrated(project):
    """Status 4, and nothing is written."""
    project.declare('bytecodes = "+2%"', instrumented="broken")

    run = project.run("budget", "calibrate", "--file", "budgets.toml")

    assert run.returncode == 4
    assert "not measured: bytecodes: instrumented raised ValueError" in run.stdout
    assert not (project.folder / "overhead-lock.toml").exists()


def test_an_improvement_is_told(project):
    """So that it can be held."""
    project.write("hooks.py", SLOWER)
    project.declare('bytecodes = "+2%"')
    project.run("budget", "calibrate", "--file", "budgets.toml")
    project.write("hooks.py", SLOWER.replace("60", "30"))

    assert "below the calibrated value: to hold it, run `otel-fastpath budget calibrate`" in project.check().stdout


def test_comparing_with_a_git_ref(project):
    """A third more is found, in time and in bytecodes; no change is not; overheads are not part of it."""
    project.write("pyproject.toml", "")
    project.declare('regression = "5%"\nbytecodes = "+2%"\noverhead = "1 ref"')
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*GIT, *command], cwd=project.folder, check=True)
    compare = ("budget", "compare", "--file", "budgets.toml", "--base", "HEAD", "--cycles", "60", "--pause", "0")

    same = project.run(*compare, "--json", "-")
    assert same.returncode == 0, same.stderr
    found = json.loads(same.stdout)
    verdicts = {each["metric"]: each["verdict"] for each in found["results"]}
    # A busy machine can hide what a small limit leaves.
    assert verdicts.pop("regression") in {"pass", "inconclusive"}
    assert verdicts == {"bytecodes": "pass"}
    assert found["base"].startswith("HEAD (")

    project.write("hooks.py", SLOWER)
    slower = json.loads(project.run(*compare, "--json", "-").stdout)
    assert [each["verdict"] for each in slower["results"]] == ["fail", "fail"]
    assert 1.1 < slower["results"][0]["value"] < 2
    assert slower["results"][1]["calibrated"] < slower["results"][1]["value"]


def test_a_base_that_cannot_be_loaded(project, tmp_path_factory):
    """It is not measured, and the note says that it is base's fault."""
    other = tmp_path_factory.mktemp("base")
    (other / "helper.py").write_text("raise ImportError('needs a compiler')\n")
    project.write("helper.py", "")
    project.write("hooks.py", "import helper\n" + SLOWER)
    project.declare('regression = "5%"\ncalls = "+2%"')

    run = project.run("budget", "compare", "--file", "budgets.toml", "--base", str(other))

    assert run.returncode == 4
    assert "base: ImportError: needs a compiler" in run.stdout


def test_a_base_that_is_not_used(project, tmp_path_factory):
    """Head compared with itself would pass; it is not measured instead."""
    other = tmp_path_factory.mktemp("base")
    (other / "unrelated.py").write_text("")
    project.declare('regression = "5%"\ncalls = "+2%"')

    run = project.run("budget", "compare", "--file", "budgets.toml", "--base", str(other))

    assert run.returncode == 4
    assert [line.count("base: the scenario imports nothing from it") for line in lines(run.stdout)] == [1, 1]


def test_explaining(project):
    """The method without a name; with one what its limits come to, and the functions that cost."""
    project.declare('bytecodes = "<= 200"')

    assert "inconclusive" in project.run("budget", "explain").stdout
    run = project.run("budget", "explain", "hook", "--file", "budgets.toml")

    assert run.returncode == 0
    assert "at most 200" in run.stdout
    assert f"hooked  ({project.folder / 'hooks.py'}:" in run.stdout
    assert project.run("budget", "explain", "hok", "--file", "budgets.toml").returncode == 2


def test_outputs(project):
    """Each format into its file, and the table on the terminal as well."""
    project.declare('calls = "<= 3"\noverhead = "1 ref"')

    run = project.check("--json", "r.json", "--markdown", "r.md", "--svg", "r.svg", "--html", "r.html")

    assert run.returncode == 0
    assert lines(run.stdout)
    found = json.loads((project.folder / "r.json").read_text())
    assert (found["schema"], found["kind"]) == (1, "otel-fastpath budget check")
    assert found["verdicts"]["pass"] == 2
    assert found["environment"]["python"]
    assert {"scenario", "metric", "limit", "verdict", "value", "most", "estimates"} <= found["results"][0].keys()
    assert "| hook | calls |" in (project.folder / "r.md").read_text()
    assert (project.folder / "r.svg").read_text().startswith("<svg")
    assert (project.folder / "r.html").read_text().startswith("<!DOCTYPE html>")


def test_an_output_can_be_piped_on(project):
    """Then nothing else is on standard output."""
    project.declare('calls = "<= 3"')

    run = project.check("--markdown", "-")

    assert run.stdout.startswith("## Overhead budgets\n")
    assert lines(run.stderr)


def test_what_the_hook_prints_does_no_harm(project):
    """Nor what it leaves in the environment."""
    project.write("hooks.py", "import os\ndef work(): pass\ndef hooked():\n    print('{}'); os.environ['X'] = 'y'\n")
    project.declare('calls = "<= 90"')

    run = project.check("--json", "-")

    assert json.loads(run.stdout)["verdicts"]["pass"] == 1


def test_a_process_that_dies_is_not_measured(project):
    """With what it ended with."""
    project.write("hooks.py", "import os\ndef work(): pass\ndef hooked(): os._exit(7)\n")
    project.declare('calls = "<= 90"\noverhead = "1 ref"')

    run = project.check()

    assert run.returncode == 4
    assert "its process ended with 7" in run.stdout
    assert "the measuring process ended with 7" in run.stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals")
def test_a_terminal_gets_a_progress_bar(project):
    """One line that is gone in the end; --no-progress leaves it out."""
    project.declare('calls = "<= 3"\noverhead = "1 ref"')
    for arguments, shown in (((), True), (("--no-progress",), False)):
        ours, theirs = os.openpty()
        run = project.check(*arguments, errors=theirs)
        os.close(theirs)
        text = os.read(ours, 1 << 16).decode() if shown else ""
        os.close(ours)
        assert run.returncode == 0
        assert ("process 1 of 1" in text) == shown
        assert not shown or text.endswith("\x1b[K")


def test_of_many_names_the_nearest_are_told():
    """An error of 200 names is not one that somebody reads."""
    names = [f"scenario {number}" for number in range(100)]

    assert one_of(names[:2], "x") == "scenario 0, scenario 1"
    assert one_of(names, "scenario 7").startswith("100 names such as scenario 7, ")
    assert one_of(names, "scenario 7").count(",") == 7
