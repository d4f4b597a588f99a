"""What a mutation changes, and that it is found."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from functions import Function
from mutating import KEY, Mutation, changed
from opentelemetry.trace import SpanKind
from opentelemetry.util import http
from processes import Parent, in_child

from otel_fastpath.patching.sources.guard import fingerprint

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each function changes in a forked child"),
    pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring finds the functions"),
]
RUN = Path(__file__).with_name("run.py")
PARTS = 80


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("GET", "GET~"),
        (True, False),
        (3, 4),
        (1_700_000_000_000_000_000, 1_701_000_000_000_000_000),
        (0.5, 1.5),
        (None, None),
        ({"a": 1}, {"a": 1, KEY: "yes"}),
        (("name", {}), ("name~", {KEY: "yes"}, "~")),
        ([1, 2], [2, 3]),
        (SpanKind.CLIENT, SpanKind.PRODUCER),
    ],
)
def test_another_value(value, expected):
    """Of the same type."""
    assert changed(value) == expected


def _mutated(way):
    def child():
        function = Function(f"{http.__name__}:sanitize_method", http.sanitize_method.__code__)
        before = fingerprint(http.sanitize_method)
        mutation = Mutation(function.place, way, "result")
        mutation.apply(function)
        return http.sanitize_method("get"), mutation.calls, fingerprint(inspect.unwrap(http.sanitize_method)) == before

    return in_child(child)


@pytest.mark.parametrize("way", ["before", "source"])
def test_a_function_is_changed(way):
    """A wrapper leaves the source as it is."""
    assert _mutated(way) == ("GET~", 1, way == "before")


def test_a_prepared_process_answers_each_question():
    """In a child of its own, which may end without an answer."""
    seen = []
    parent = Parent(lambda: seen.append("prepared"), lambda asked: seen.append(asked) or seen if asked else os._exit(3))
    try:
        assert [parent.ask(1), parent.ask(0), parent.ask(2)] == [["prepared", 1], None, ["prepared", 2]]
    finally:
        parent.end()
    assert seen == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sample_of_the_mutations():
    """Another one each day."""
    part = time.gmtime().tm_yday % PARTS
    command = [sys.executable, str(RUN), "--kind=result", f"--part={part}/{PARTS}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, json.dumps([done.stdout, done.stderr[-2000:]])
