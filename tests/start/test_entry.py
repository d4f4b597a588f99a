"""The entry points: off by name they leave nothing behind, and a fault of ours leaves the start as it is."""

from __future__ import annotations

import json
import sys
from importlib import metadata

import pytest
from disabled_instrumentations import all_but
from opentelemetry.instrumentation.distro import BaseDistro

from otel_fastpath.settings import ENTRY_POINT, from_env
from otel_fastpath.start import entry, late

REST = """
import json, sys
print(json.dumps(sorted(name for name in sys.modules if name.startswith("otel_fastpath"))))
"""


@pytest.mark.parametrize(
    ("group", "function"),
    [("opentelemetry_pre_instrument", entry.before), ("opentelemetry_post_instrument", entry.after)],
)
def test_they_are_declared(group, function):
    """Under the name that settings use."""
    (found,) = metadata.entry_points(group=group, name=ENTRY_POINT)

    assert found.load() is function


@pytest.mark.parametrize(
    ("way", "value"),
    [
        # The others are named, too, as to import all of them takes seconds.
        pytest.param("lazy", all_but(), id="lazy-all"),
        ("run", "*"),
        pytest.param("lazy", "fastpath", marks=pytest.mark.slow),
        pytest.param("lazy", "*", marks=pytest.mark.slow),
        pytest.param("lazy", "asyncpg, fastpath", marks=pytest.mark.slow),
        pytest.param("run", "fastpath", marks=pytest.mark.slow),
        pytest.param("run", "asyncpg, fastpath", marks=pytest.mark.slow),
    ],
)
def test_disabled_by_name_no_module_stays(start, tmp_path, way, value):
    """But the command's own, where the program is run by it."""
    (tmp_path / "program.py").write_text(REST)
    result = start(way, sys.executable, "program.py", OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=value)

    left = [name for name in json.loads(result.stdout) if not name.startswith("otel_fastpath.start")]
    own = ["otel_fastpath", "otel_fastpath.__main__", "otel_fastpath.settings", "otel_fastpath.wrong_settings"]
    assert left == (own if way == "run" else [])
    assert result.stderr == ""


@pytest.fixture
def original():
    """The method of OpenTelemetry's, which is there again after the test."""
    yield BaseDistro.load_instrumentor
    late.end()


def test_between_them_instrumentations_wait(original, environ):
    """Once, however often they are called."""
    environ.delenv("OTEL_FASTPATH_LAZY_INSTRUMENTATIONS", raising=False)
    entry.after()
    for _ in range(2):
        entry.before()
        assert BaseDistro.load_instrumentor.__wrapped__ is original
    for _ in range(2):
        entry.after()
        assert BaseDistro.load_instrumentor is original


@pytest.mark.parametrize(
    ("name", "value"),
    [("OTEL_FASTPATH_LAZY_INSTRUMENTATIONS", "off"), ("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "redis,fastpath")],
)
def test_switched_off_nothing_is_replaced(original, environ, name, value):
    """Both do nothing."""
    environ.setenv(name, value)
    entry.before()

    assert BaseDistro.load_instrumentor is original
    entry.after()


@pytest.mark.usefixtures("original")
def test_a_fault_is_one_line(environ, logged):
    """An exception would end the instrumenting."""
    environ.setattr(late, "begin", lambda: 1 // 0)
    environ.setattr(late, "end", lambda: 1 // 0)
    entry.before()
    entry.after()

    assert logged() == ["Instrumentations are loaded at the start, not when their libraries are imported."] * 2


def test_what_another_instrumentation_wrapped_stays(original):
    """Our layer hands its calls on."""

    class Instrumentor:
        def instrument(self, **_kwargs):
            called.append("instrumented")

    class EntryPoint:
        name = "redis"

        def load(self):
            return Instrumentor

    class Distribution(BaseDistro):
        def _configure(self, **kwargs):
            pass

    called = []
    late.begin()
    ours = BaseDistro.load_instrumentor

    def theirs(self, entry_point):
        ours(self, entry_point)

    BaseDistro.load_instrumentor = theirs
    try:
        late.end()
        Distribution().load_instrumentor(EntryPoint())
        assert called == ["instrumented"]
    finally:
        BaseDistro.load_instrumentor = original


def test_the_variable_is_a_known_one(logged):
    """And a wrong value is reported, also with the other settings."""
    from_env({"OTEL_FASTPATH_LAZY_INSTRUMENTATIONS": "OFF"})
    assert logged() == []
    from_env({"OTEL_FASTPATH_LAZY_INSTRUMENTATIONS": "no"})
    (line,) = logged()
    assert line.startswith("OTEL_FASTPATH_LAZY_INSTRUMENTATIONS: 'no' is not valid; expected one of on, off.")
