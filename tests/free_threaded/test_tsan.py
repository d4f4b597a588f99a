"""ThreadSanitizer's reports are sorted by whose code makes the accesses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pytest
import tsan

PACKAGE = "/work/tsan/"
OURS = f"{PACKAGE}otel_fastpath/trace/spans/span_c.so"
PYTHON = "/usr/bin/python3.13t"


def report(*stacks):
    """A report with the accesses of these stacks of (function, module)."""
    kinds = ("  Read of size 1 at 0x7f by thread T2:", "  Previous write of size 1 at 0x7f by thread T4:")
    parts = [
        "\n".join([kind, *(f"    #{at} {name} a.c:{at} ({module}+0x4c)" for at, (name, module) in enumerate(stack))])
        for kind, stack in zip(kinds, stacks, strict=True)
    ]
    created = f"  Thread T2 (tid=1, running) created by main thread at:\n    #0 start a.c:1 ({OURS}+0x1)"
    return "\n\n".join(["WARNING: ThreadSanitizer: data race (pid=1)\n" + parts[0], parts[1], created])


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ([("in_flight", OURS), ("call_one_instrument", PYTHON)], True),
        ([("PyDict_Watch", PYTHON), ("recheck", OURS), ("_PyEval_EvalFrameDefault", PYTHON)], True),
        ([("insertdict", PYTHON), ("_PyEval_EvalFrameDefault", PYTHON), ("wrapper", OURS)], False),
        ([("insertdict", PYTHON), ("other", "/usr/lib/otel_fastpath/span_c.so")], False),
    ],
)
def test_a_race_is_ours_if_our_code_makes_an_access(stack, expected):
    """Itself or in a function of CPython, but not by Python code that it calls; whoever started the thread."""
    accesses = list(tsan.accesses(report([("read", PYTHON)], stack)))

    assert len(accesses) == 2
    assert any(tsan.is_ours(each, PACKAGE) for each in accesses) == expected
