"""The WSGI middleware under gevent: the spans of concurrent greenlets are stock's, and none is mixed up."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("gevented.py")
pytestmark = pytest.mark.skipif(not importlib.util.find_spec("gevent"), reason="gevent is not installed")


@functools.cache
def _run(core):
    """What the program prints; in a process of its own, because gevent patches the whole of it."""
    command = [sys.executable, "-m", "gevent.monkey", PROGRAM, core]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.proves("wsgi.request")
def test_concurrent_greenlets(core):
    """Of 40 clients that call at the same time."""
    outcomes, rows, is_empty, faults = _run(core)

    assert [outcomes, rows, is_empty, {}] == _run("")
    assert faults == {}
    assert is_empty
    assert len(outcomes) == 200
    # The remote parent's trace, and its span as the parent, have the number of the request.
    for trace, name, kind, parent, *_ in rows:
        assert name.split()[1].strip("/").split(".")[0] == str(trace)
        assert parent == (trace if kind == "SERVER" else f"GET /{trace}")
