"""A program and its steps."""

from __future__ import annotations

import logging
import random
import subprocess
import sys
import warnings

import pytest
from opentelemetry import trace

from otel_fastpath.tools.prove.catalogue import programs
from otel_fastpath.tools.prove.libraries import calls_drawn
from otel_fastpath.tools.prove.program import BROKEN, Program, observe, observe_steps


def _run(run):
    telemetry = run.telemetry()
    tracer = telemetry.tracers.get_tracer("program")

    def number():
        return run.draw.randrange(1000)

    def outer():
        return run.attempt(number), run.attempt(number)

    for _ in run.halves():
        run.attempt(number)
        run.attempt(outer)
        run.attempt(number)
        with tracer.start_as_current_span("work"):
            trace.get_current_span().set_attribute("key", 1)


_BROKEN_PROGRAMS = """
import logging
from otel_fastpath.tools.prove.catalogue import programs
from otel_fastpath.tools.prove.program import BROKEN, observe
logging.getLogger().addHandler(logging.NullHandler())
print("broken:", [each.name for each in programs({number}) if observe(each).startswith(BROKEN)])
"""
PROGRAM = Program("steps", 7, _run)


def _outcomes(skipped=()):
    return eval(observe(PROGRAM, skipped=frozenset(skipped)).partition("\n")[0])[1]  # noqa: S307  # made by repr


def test_the_same_seed_is_the_same_program():
    """Ids and times are no exception."""
    assert observe(PROGRAM) == observe(PROGRAM)


def test_both_halves_are_the_same():
    """What is seen first in the first half comes again in the second."""
    *steps, _ = _outcomes()
    assert steps[: len(steps) // 2] == steps[len(steps) // 2 :]


def test_a_step_that_is_skipped_leaves_the_others_as_they_are():
    """In both halves, with the steps inside of it."""
    one, inner, other, pair, last = _outcomes()[:5]
    assert pair == f"({inner}, {other})"
    assert _outcomes([(1, 2)])[:2] == (one, last)
    assert _outcomes([(1, 2, 1)])[:4] == (one, other, f"(None, {other})", last)


def test_the_steps_are_named():
    """After what they call."""
    _, steps = observe_steps(PROGRAM)
    assert steps == {
        (1,): "run",
        (1, 1): "number",
        (1, 2): "outer",
        (1, 2, 1): "number",
        (1, 2, 2): "number",
        (1, 3): "number",
    }


def test_what_opentelemetry_logs_is_seen():
    """And what it warns of, once for all threads and calls."""

    def run(_run):
        for _ in range(2):
            logging.getLogger("opentelemetry.sdk.program").warning("not %s", f"<good at {id(_run):#x}>")
            warnings.warn("old", DeprecationWarning, stacklevel=1)

    assert observe(Program("logs", 1, run)).splitlines()[2] == (
        "('logged', ('opentelemetry.sdk.program', 'WARNING', 'not <good at an address>'), "
        "('warning', 'DeprecationWarning', 'old'))"
    )


def test_a_program_that_cannot_run_is_broken():
    """A step of it that raises is none."""

    def fail(_run):
        raise TypeError

    assert observe(Program("broken", 1, fail)).startswith(BROKEN)
    assert not observe(Program("right", 1, lambda run: run.attempt(fail, run))).startswith(BROKEN)


@pytest.mark.parametrize("number", [2, pytest.param(6, marks=pytest.mark.slow)])
def test_no_program_is_broken_here(number):
    """With the locked releases."""
    command = [sys.executable, "-c", _BROKEN_PROGRAMS.format(number=number)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "broken: []\n"


@pytest.mark.parametrize("number", [1, 3])
def test_there_are_programs_of_each_signal_and_library(number):
    """With a name each."""
    names = [each.name for each in programs(number)]
    assert len(set(names)) == len(names)
    kinds = {name.rpartition(" ")[0] for name in names}
    assert {"spans", "metrics", "logs", "DB-API", "sqlite3"} <= kinds
    assert [name for name in names if name.startswith("sqlite3")] == [f"sqlite3 {each}" for each in range(number)]


def test_a_drawn_call_is_the_same_whatever_the_port_is(monkeypatch):
    """The figures of a port can be those of a path."""

    def drawn(port):
        monkeypatch.setattr(calls_drawn, "url_served", lambda: f"http://127.0.0.1:{port}")
        calls = [calls_drawn.draw_call(random.Random(seed), is_difficult=True) for seed in range(100)]  # noqa: S311
        return [each.url.replace(str(port), "port") for each in calls]

    assert drawn(42007) == drawn(54321)
