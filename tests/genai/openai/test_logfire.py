"""Logfire's own instrumentation of the client: a call has one span, Logfire's or ours, whatever its settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3]))

from examples.demo.processes import clean_environment
from examples.founding_case.environment import provide

ROOT = Path(__file__).parents[3]
RIVALS = Path(__file__).with_name("rivals")
OURS = ["otel_fastpath.libraries.genai.openai"]
THEIRS = ["logfire.openai"]
BASE = ("first", "full", "classes", "others")
CASES = list(product(["first", "last"], ["full", "defer", "on"], ["classes", "client"], ["suppress", "others"]))


def calls(python, case, **variables):
    """The scopes of the spans of each call, as the program prints them."""
    done = subprocess.run(
        [python, RIVALS / "logfire_calls.py", *case],
        env=clean_environment(variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def judge(found, case):
    """One of the two has the span of each call; when ours is taken off it is Logfire, and after Logfire nobody."""
    _, mode, what, _ = case
    ours = mode == "on" and what == "classes"
    assert found["both"] == [OURS if ours else THEIRS] * 4
    assert found["theirs"] == [THEIRS] * 4
    assert found["nobody"] == [[]] * 4
    assert found["faults"] == {}


@pytest.mark.proves("openai.logfire")
@pytest.mark.parametrize(
    "case",
    [
        # `make test` has those in which nothing keeps ours from having a span, too, and differs in one word from BASE.
        pytest.param(
            case,
            id="-".join(case),
            marks=[pytest.mark.slow] if {"defer", "suppress"} & {*case} or len({*case} - {*BASE}) > 1 else [],
        )
        for case in CASES
    ],
)
def test_a_call_has_one_span(case):
    """With a stand-in that instruments as Logfire does."""
    found = calls(sys.executable, case, PYTHONPATH=f"{RIVALS}{os.pathsep}{ROOT}")
    judge(found, case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_a_call_has_one_span_with_logfire(case):
    """With the real one."""
    found = calls(provide("logfire") / "python", case, LOGFIRE_IGNORE_NO_CONFIG="1")
    judge(found, case)
