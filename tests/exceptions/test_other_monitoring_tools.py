"""Debuggers, profilers, coverage and other people's monitoring work beside the counters, in either order."""

from __future__ import annotations

import importlib.util
import sys

import pytest

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

WORKLOAD = """
import sys
from otel_fastpath import exceptions

def deep(levels):
    if levels == 0:
        raise LookupError("x")
    deep(levels - 1)

def work():
    for _ in range(10):
        try:
            deep(5)
        except LookupError:
            pass

def begin():
    assert exceptions.start(exceptions.Settings(mode="handled"))

def count():
    found = [(c.raised, c.handled) for c in exceptions.snapshot() if c.type == "LookupError"]
    return found[0] if found else None
"""

# The neighbour's module; how it begins; what ends it and prints whether it did its work.
NEIGHBOURS = {
    "settrace": (
        "sys",
        "events = []; sys.settrace(lambda *a: events.append(a[1]))",
        "sys.settrace(None); print(len(events) > 50)",
    ),
    "setprofile": (
        "sys",
        "events = []; sys.setprofile(lambda *a: events.append(a[1]))",
        "sys.setprofile(None); print(len(events) > 50)",
    ),
    "cProfile": (
        "cProfile",
        "import cProfile, pstats; profile = cProfile.Profile(); profile.enable()",
        "profile.disable(); print(any(key[2] == 'deep' for key in pstats.Stats(profile).stats))",
    ),
    "coverage, sysmon": (
        "coverage",
        "os.environ['COVERAGE_CORE'] = 'sysmon'; import coverage; c = coverage.Coverage(data_file=None); c.start()",
        "c.stop(); print(c.get_data() is not None)",
    ),
    "coverage, ctrace": (
        "coverage",
        "os.environ['COVERAGE_CORE'] = 'ctrace'; import coverage; c = coverage.Coverage(data_file=None); c.start()",
        "c.stop(); print(c.get_data() is not None)",
    ),
    "debugpy": (
        "debugpy",
        "import debugpy; debugpy.listen(('127.0.0.1', 0))",
        "print(not debugpy.is_client_connected())",
    ),
    "pyinstrument": (
        "pyinstrument",
        "import pyinstrument; p = pyinstrument.Profiler(interval=0.0001); p.start()",
        "p.stop(); print(p.last_session is not None)",
    ),
    "sentry": (
        "sentry_sdk",
        """
import sentry_sdk
sent = []
dsn = 'http://key@127.0.0.1:1/1'
sentry_sdk.init(dsn, default_integrations=False, before_send=lambda event, hint: sent.append(event))
""",
        "sentry_sdk.capture_exception(KeyError()); print(len(sent) == 1)",
    ),
    "ddtrace": ("ddtrace", "import ddtrace; span = ddtrace.tracer.trace('x')", "span.finish(); print(True)"),
    "ddtrace, exception profiling": (
        "ddtrace",
        """
os.environ.update(DD_PROFILING_EXCEPTION_ENABLED='true', DD_PROFILING_STACK_ENABLED='false')
from ddtrace.profiling.profiler import Profiler
p = Profiler()
p.start()
""",
        "p.stop(flush=False); print(True)",
    ),
    "ddtrace, handled errors": (
        "ddtrace",
        "os.environ['DD_ERROR_TRACKING_HANDLED_ERRORS'] = 'all'; import ddtrace.auto",
        "print(True)",
    ),
}


@pytest.mark.parametrize("first", ["neighbour", "counters"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_both_work(run_python, name, first):
    """Whoever comes first, the count is exact and the neighbour does its work."""
    module, neighbour, check = NEIGHBOURS[name]
    if module not in sys.modules and importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    order = (neighbour, "begin()") if first == "neighbour" else ("begin()", neighbour)
    environment = "import os; os.environ.update(DD_TRACE_ENABLED='false', DD_INSTRUMENTATION_TELEMETRY_ENABLED='false')"
    program = "\n".join([environment, WORKLOAD, *order, "work()", check, "print(count())", "exceptions.stop()"])
    assert run_python(program).splitlines()[-2:] == ["True", "(10, 10)"]
