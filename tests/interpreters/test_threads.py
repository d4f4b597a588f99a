"""Spans in threads have the parents that stock OpenTelemetry gives them, whether or not threads inherit the context."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("threads.py")
NEW = pytest.mark.skipif(sys.version_info < (3, 14), reason="threads inherit no context before Python 3.14")


def told(core, *options):
    """Spans with their parents, and what was current, as the program tells with this core."""
    command = [sys.executable, *options, str(PROGRAM), core]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("options", "parent"),
    [
        pytest.param((), None, id="default"),
        pytest.param(("-X", "thread_inherit_context=0"), None, marks=NEW, id="not inherited"),
        pytest.param(("-X", "thread_inherit_context=1"), "main", marks=NEW, id="inherited"),
        pytest.param(
            ("-X", "thread_inherit_context=1", "-X", "context_aware_warnings=1"), "main", marks=NEW, id="with warnings"
        ),
    ],
)
def test_threads_have_the_parents_of_stock(core, options, parent):
    """Threads, pools, threads of threads, those that outlive the span that started them, and asyncio's."""
    stock = told("stock", *options)
    if options or not getattr(sys.flags, "thread_inherit_context", False):
        assert [found for name, found in stock["spans"] if name == "thread"] == [None, parent]

    assert told(core, *options) == stock
