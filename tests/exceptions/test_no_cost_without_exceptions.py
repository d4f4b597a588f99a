"""While no exception is raised, the counters cost no instruction."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

from otel_fastpath.tools.budget.counting import native

ROUNDS = 200
PROGRAM = f"""
import ctypes, gc, sys
from otel_fastpath import exceptions

class Thing:
    attribute = 1

def numbers():
    yield from (1, 2, 3)

async def awaited():
    return 1

def negative(value):
    return -value

class Manager:
    def __enter__(self): return self
    def __exit__(self, *_): return None

def workload():
    total = 0
    for number in numbers():
        total += number
    for number in (1, 2, 3):
        total += getattr(Thing, "attribute", 0) + hasattr(Thing, "missing") + len({{}}.get("x", ""))
    try:
        total += max((1, 2), key=negative)
    except ValueError:
        raise
    finally:
        total += 1
    with Manager():
        total += sum([value * 2 for value in (1, 2)])
    coroutine = awaited()
    coroutine.close()
    return total

def rounds(times):
    for _ in range(times):
        workload()

shim = ctypes.CDLL(sys.argv[1])
shim.end.argtypes = [ctypes.c_char_p]
SETTINGS = {{
    "first": None,
    "second": exceptions.Settings(mode="handled", code=True, operations=True),
    "before": None,
    "raised": exceptions.Settings(),
    "handled": exceptions.Settings(mode="handled", code=True, operations=True),
    "after": None,
}}
for label, settings in SETTINGS.items():
    exceptions.stop()
    if settings is not None:
        assert exceptions.start(settings)
    rounds(500)
    gc.collect()
    gc.disable()
    shim.begin()
    rounds({ROUNDS})
    shim.end(label.encode())
    gc.enable()
"""


def test_without_exceptions_the_count_of_instructions_is_the_same(tmp_path):
    """A workload of calls, loops, generators, attributes, `try` and `with`: stopped, counting, counting everything."""
    try:
        shim = native.build(native.INSTRUCTIONS, tmp_path)
    except native.MissingToolError as error:
        pytest.skip(str(error))
    command = native.under_valgrind([sys.executable, "-c", PROGRAM, str(shim)], tmp_path)
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = {}
    for file in tmp_path.glob("profile.*"):
        text = file.read_text(errors="replace")
        label = re.search(r"^desc: Trigger: Client Request: (\w+)$", text, re.MULTILINE)
        if label and re.search(r"^thread: 1$", text, re.MULTILINE):
            counts[label[1]] = instructions(text) / ROUNDS
    # The first two are there to warm Python's own caches.
    assert counts["before"] > 10_000
    for label, stopped in (("raised", "before"), ("handled", "after")):
        assert counts[label] == pytest.approx(counts[stopped], abs=3), counts
    # Code that was instrumented is specialised again, and since Python 3.14 not always in the same way.
    assert counts["after"] == pytest.approx(counts["before"], rel=0.003), counts


def instructions(profile):
    """The instructions of a profile, without the memory allocator's: those depend on what else is on the heap."""
    total, name, names = 0, "", {}
    lines = iter(profile.splitlines())
    for line in lines:
        if line.startswith("fn="):
            number, _, text = line[3:].partition(" ")
            name = names.setdefault(number, text)
        elif line.startswith("calls="):
            # The cost of the call is that of the called function, which has lines of its own.
            next(lines)
        elif re.match(r"[+*\-\d]\S* \d+$", line) and not re.search("alloc|free|arena", name, re.IGNORECASE):
            total += int(line.split()[1])
        elif line.startswith("cfn="):
            number, _, text = line[4:].partition(" ")
            names.setdefault(number, text)
    return total
