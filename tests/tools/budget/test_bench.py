"""`otel-fastpath bench`: what is active in this environment is what is measured; nothing is sent anywhere."""

from __future__ import annotations

import json

import pytest
from disabled_instrumentations import all_but

QUICK = ("--rounds", "1", "--cycles", "10")
INSTRUMENTATION = """
import time
import hooks

class Hook:
    is_instrumented_by_opentelemetry = False

    def instrument(self):
        self.is_instrumented_by_opentelemetry = True
        hooks.EXTRA = 0.0005

class Broken:
    def instrument(self):
        raise RuntimeError("needs a newer library")
"""
LIBRARY = """
import time
EXTRA = 0.0

def call():
    if EXTRA:
        time.sleep(EXTRA)

def fast():
    pass
"""


@pytest.fixture(autouse=True)
def lean(monkeypatch):
    """Without the instrumentations that take a second to load."""
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", all_but("fastpath"))


@pytest.fixture
def instrumented(project):
    """A project with an instrumentation of its own, found by its entry point, and one that fails."""
    project.write("hooks.py", LIBRARY)
    project.write("instrumentation.py", INSTRUMENTATION)
    points = "[opentelemetry_instrumentor]\nours = instrumentation:Hook\nother = instrumentation:Broken\n"
    project.write("ours-1.dist-info/entry_points.txt", points)
    project.write("ours-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: ours\nVersion: 1\n")
    return project


@pytest.mark.slow
def test_the_spans_of_this_environment_are_measured(project):
    """Stock and fastpath, as what they add to nothing; the figures are in the JSON, the table on the terminal."""
    run = project.run("bench", *QUICK, "--only", "span*", "--json", "b.json", "--html", "b.html")

    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("What telemetry costs in this environment\n")
    found = json.loads((project.folder / "b.json").read_text())
    assert found["kind"] == "otel-fastpath bench"
    assert [each["operation"] for each in found["results"]] == [
        "span",
        "span, 7 attributes",
        "span with an exception, 6 frames",
    ]
    for each in found["results"]:
        assert 0 < each["fastpath_of_stock"][0] < 0.9, each
        assert each["us"]["bare"][0] < each["us"]["fastpath"][0] < each["us"]["stock"][0]
    assert "applied" in found["environment"]["patches"]
    assert (project.folder / "b.html").read_text().startswith("<!DOCTYPE html>")


def test_instrumentations_of_the_users_own_are_measured(instrumented):
    """By a scenario that is declared; what is active without an operation of ours is named, what fails as well."""
    instrumented.declare('calls = "<= 99"', name="ours", bare="call", instrumented="call")

    run = instrumented.run("bench", *QUICK, "--only", "ours", "--file", "budgets.toml", "--json", "-")

    assert run.returncode == 0, run.stderr
    (result,) = json.loads(run.stdout)["results"]
    assert result["us"]["bare"][0] < 400 < result["us"]["stock"][0]
    assert "ours" in json.loads(run.stdout)["environment"]["instrumentations"].split(", ")
    assert "other: RuntimeError: needs a newer library" in run.stderr
    assert "no built-in operation uses" in run.stderr


def test_what_is_disabled_is_not_loaded(instrumented, monkeypatch):
    """The same variable as opentelemetry-instrument's."""
    instrumented.declare('calls = "<= 99"', name="ours", bare="call", instrumented="call")
    monkeypatch.setenv("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", f"ours, other, {all_but('fastpath')}")

    run = instrumented.run("bench", *QUICK, "--only", "ours", "--file", "budgets.toml", "--json", "-")

    assert "ours" not in json.loads(run.stdout)["environment"]["instrumentations"].split(", ")
    assert json.loads(run.stdout)["results"][0]["us"]["stock"][0] < 400


def test_an_operation_that_cannot_be_measured_says_why(project):
    """The others are measured all the same; with none it is status 4."""
    project.declare('calls = "<= 99"', instrumented="broken")

    run = project.run("bench", *QUICK, "--only", "hook", "--only", "span", "--file", "budgets.toml")
    assert run.returncode == 0
    assert "not measured: stock: instrumented raised ValueError: no such item" in run.stdout.replace(
        "fastpath:", "stock:"
    )
    assert "1 of 2 operations measured" in run.stdout

    assert project.run("bench", *QUICK, "--only", "hook", "--file", "budgets.toml").returncode == 4


def test_the_list_says_what_would_be_measured(project, monkeypatch):
    """And what not, and why."""
    monkeypatch.delenv("DATABASE_URL", raising=False)

    run = project.run("bench", "--list")

    assert run.returncode == 0
    assert "span, 7 attributes: would be measured" in run.stdout
    assert "asyncpg fetchval: not measured: " in run.stdout
    assert "instrumentations active here: " in run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--only", "none"), "--only none: expected one of 18 names such as "),
        (("--rounds", "0"), "--rounds 0: expected"),
        (("--cycles", "-1"), "--cycles -1: expected"),
    ],
)
def test_usage(project, arguments, message):
    """Status 2 and one line."""
    run = project.run("bench", *arguments)

    assert run.returncode == 2
    assert run.stderr.startswith(f"otel-fastpath: {message}")
    assert run.stderr.count("\n") == 1


def test_a_process_that_dies_is_reported(instrumented):
    """With the last that it said; status 4."""
    instrumented.write(
        "instrumentation.py", "import os\nclass Hook:\n    def instrument(self): os._exit(9)\nBroken = Hook\n"
    )

    run = instrumented.run("bench", *QUICK, "--only", "span")

    assert run.returncode == 4
    assert "process ended with 9" in run.stderr
