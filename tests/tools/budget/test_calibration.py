"""Calibrated values: written, read, kept while they are good, and refused where they are not."""

from __future__ import annotations

import dataclasses
import sys

import pytest

from otel_fastpath.tools.budget import calibration, declare
from otel_fastpath.tools.budget.calibration import Calibration
from otel_fastpath.tools.budget.declare import DeclarationError


def made(**changes):
    """A calibration with these facts."""
    facts = {
        "python": "3.13",
        "release": "3.13.0",
        "implementation": "CPython",
        "harness": 1,
        "reference": "minispan/1",
        "interpreter": "gcc 12",
        "tools": "valgrind 3.19",
        "cpu": "fast",
        "distributions": {"opentelemetry-sdk": "1.45.1"},
        "scenarios": {'the "hook"': {"calls": 3.0, "instructions": 12345.678, "overhead": 0.123456789}},
    }
    return Calibration(**{**facts, **changes})


def test_what_is_written_is_read(tmp_path):
    """Names with quotes, and numbers as exact as they need be."""
    file = tmp_path / "lock.toml"

    calibration.write(file, [made(), made(python="3.12")])

    first, second = calibration.read(file)
    assert (first.python, second.python) == ("3.13", "3.12")
    assert first.scenarios == {'the "hook"': {"calls": 3, "instructions": 12345.7, "overhead": 0.123457}}
    before = file.read_bytes()
    calibration.write(file, calibration.read(file))
    assert file.read_bytes() == before


def test_a_file_without_values_is_read(tmp_path):
    """It is written where all limits are absolute."""
    file = tmp_path / "lock.toml"
    calibration.write(file, [made(scenarios={})])

    assert calibration.read(file) == [made(scenarios={})]


def test_no_file_is_no_calibration(tmp_path):
    """Nothing was calibrated yet."""
    assert calibration.read(tmp_path / "none.toml") == []


@pytest.mark.parametrize("text", ["", "environment = 3", "[[environment]]\npython = '3.13'"])
def test_a_file_that_is_none_is_a_mistake(tmp_path, text):
    """One line that says what writes one."""
    file = tmp_path / "lock.toml"
    file.write_text(text)

    with pytest.raises(DeclarationError, match="expected what `otel-fastpath budget calibrate` writes") as caught:
        calibration.read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "metric", "reason"),
    [
        ({}, "instructions", ""),
        ({"cpu": "slow"}, "instructions", ""),
        ({"harness": 2}, "calls", "calibrated by harness 2, this is 1"),
        ({"interpreter": "gcc 13"}, "calls", ""),
        ({"tools": "valgrind 3.20"}, "calls", ""),
        ({"tools": "valgrind 3.20"}, "instructions", "calibrated on valgrind 3.20; this is valgrind 3.19"),
        ({"tools": "valgrind 3.20"}, "cache_lines", "calibrated on valgrind 3.20; this is valgrind 3.19"),
        ({"release": "3.13.1"}, "calls", ""),
        ({"interpreter": "gcc 13"}, "instructions", "calibrated on gcc 13; this is gcc 12"),
        (
            {"distributions": {"opentelemetry-sdk": "1.44"}},
            "calls",
            "calibrated with opentelemetry-sdk 1.44, here is 1.45.1",
        ),
        ({"distributions": {}}, "calls", "calibrated with opentelemetry-sdk none, here is 1.45.1"),
        ({"distributions": {}}, "overhead", ""),
        ({"reference": "json/1"}, "overhead", "calibrated in json/1, not minispan/1"),
        ({"reference": "json/1"}, "calls", ""),
    ],
)
def test_a_value_is_good_where_it_was_taken(changes, metric, reason):
    """Counts for one set of versions, instructions for one build of Python, times for one reference."""
    assert made(**changes).unfit(made(), metric) == reason


def test_another_release_of_python_is_a_reason_to_doubt():
    """Its standard library may do more; what holds there holds all the same."""
    assert made().doubt(made()) == ""
    assert made().doubt(made(release="3.13.5")).startswith("calibrated on Python 3.13.0, this is 3.13.5")


def test_one_scenario_can_be_calibrated_by_itself():
    """The others keep their values, and other Python versions theirs."""
    old = made(scenarios={"a": {"calls": 1.0, "instructions": 10.0}, "b": {"calls": 2.0}})
    new = made(scenarios={"b": {"calls": 3.0}})

    merged = calibration.merge([old, made(python="3.12")], new)

    assert [each.python for each in merged] == ["3.13", "3.12"]
    assert merged[0].scenarios == {"a": {"calls": 1.0, "instructions": 10.0}, "b": {"calls": 3.0}}


def test_values_that_are_void_are_dropped():
    """After an upgrade nothing of the old versions is left beside the new."""
    old = made(distributions={"opentelemetry-sdk": "1.44.0"}, scenarios={"a": {"calls": 1.0}})

    merged = calibration.merge([old], made(scenarios={"b": {"calls": 3.0}}))

    assert merged[0].scenarios == {"b": {"calls": 3.0}}


def test_overheads_stay_after_an_upgrade():
    """They are relative to a reference that is measured beside them."""
    times = {"overhead": 2.0, "control": 1.0}
    old = made(distributions={}, scenarios={"a": {"calls": 1.0, **times}, "b": {"calls": 2.0, **times}})

    merged = calibration.merge([old], made(scenarios={"b": {"calls": 3.0}}))

    assert merged[0].scenarios == {"a": times, "b": {"calls": 3.0, **times}}


OLD = {"a": {"calls": 1.0, "instructions": 9.0}, "b": {"calls": 2.0, "overhead": 3.0}}


@pytest.mark.parametrize(
    ("changes", "measured", "names"),
    [
        ({}, {"b"}, []),
        ({"interpreter": "gcc 13"}, {"b"}, []),
        ({"distributions": {}}, {"b"}, ["a"]),
        ({"distributions": {}}, {"a"}, ["b"]),
        ({"distributions": {}}, {"a", "b"}, []),
        ({"harness": 0}, {"b"}, ["a"]),
    ],
)
def test_it_is_known_what_would_be_lost(changes, measured, names):
    """Counts of other versions, unless they are measured again."""
    old = made(scenarios=OLD, **changes)

    why, found = calibration.lost([old], made(scenarios={}), lambda name, _metric: name not in measured)

    assert found == names
    assert why == (old.unfit(made(), "calls") if names else "")


def test_this_environment_is_described(project):
    """By what its values depend on."""
    found = calibration.here(declare.read(project.declare('calls = "<= 3"')))

    assert found.scenarios == {}
    assert "opentelemetry-sdk" in found.distributions
    optional = {"scenarios", "tools", "functions"}
    assert all(getattr(found, field.name) for field in dataclasses.fields(found) if field.name not in optional)
    assert "sha256" in found.interpreter or sys.platform != "linux"


def test_calibrating_a_part_with_other_versions_is_refused(project):
    """The values of the other scenarios would be lost: one line, and the file stays as it is. All of them is right."""
    distributions = 'distributions = ["pytest"]\n'
    declared = "\n".join(
        f'[scenarios.{name}]\nbare = "hooks:work"\ninstrumented = "hooks:hooked"\ncalls = "+0%"'
        for name in ("one", "two")
    )
    project.write("budgets.toml", "distributions = []\n" + declared)
    command = ("budget", "calibrate", "--file", "budgets.toml")
    assert project.run(*command).returncode == 0
    lock = project.folder / "overhead-lock.toml"
    before = lock.read_text()
    project.write("budgets.toml", distributions + declared)

    run = project.run(*command, "--only", "one")

    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == (
        f"otel-fastpath: overhead-lock.toml was calibrated with pytest none, here is {pytest.__version__}: this would "
        "drop values of scenarios that are not measured again, such as two. "
        "Calibrate all scenarios, without --only and --metrics\n"
    )
    assert lock.read_text() == before
    assert project.run(*command).returncode == 0
    assert "pytest" in lock.read_text()
    assert project.run(*command, "--only", "one").returncode == 0
