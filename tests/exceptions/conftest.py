"""Makes `counting` importable, and starts and stops the counters."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# What counts with sys.monitoring; the syntax of some scenarios is new, too.
collect_ignore = (
    []
    if sys.version_info >= (3, 12)
    else [
        path.name
        for path in Path(__file__).parent.glob("test_*.py")
        if path.stem not in {"test_boundaries", "test_settings"}
    ]
)


if sys.version_info >= (3, 12) and os.environ.get("OTEL_FASTPATH_EXTENSION") == "require":
    # Where it must be there, its tests must not be skipped.
    importlib.import_module("otel_fastpath.exceptions.callbacks_c")


@pytest.fixture
def counters():
    """The package, stopped and back at zero before and after."""
    from otel_fastpath import exceptions
    from otel_fastpath.exceptions import monitor

    def begin():
        exceptions.stop()
        if monitor.state.engine is not None:
            monitor.state.engine.reset()
        monitor.state.engine = None

    begin()
    yield exceptions
    begin()


@pytest.fixture
def start(counters):
    """Start counting with these settings."""

    def call(core=None, *, meter_provider=None, tracer_provider=None, **settings):
        if core != "py":
            pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")
        from otel_fastpath.exceptions import monitor

        started = counters.start(
            counters.Settings(**settings), core, meter_provider=meter_provider, tracer_provider=tracer_provider
        )
        if monitor.state.engine is not None:
            monitor.state.engine.reset()
        return started

    return call


@pytest.fixture
def logged(caplog):
    """The lines that our own code has logged so far."""
    caplog.set_level(logging.INFO, "otel_fastpath")
    return lambda: [record.getMessage() for record in caplog.records if record.name.startswith("otel_fastpath")]


@pytest.fixture
def run_python():
    """Run a program in a process of its own; gives what it prints."""

    def run(program, *arguments, check=True):
        done = subprocess.run(
            [sys.executable, *arguments, "-c", textwrap.dedent(program)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        if check:
            assert done.returncode == 0, done.stderr
            return done.stdout.strip()
        return done

    return run
