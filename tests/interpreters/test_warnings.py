"""What a newer Python warns of is an error here."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for name in ("otel_fastpath", "tests", "benchmarks", "examples", "docs")
    for path in (ROOT / name).rglob("*.py")
]


def test_a_warning_is_an_error(pytestconfig):
    """In the test's own thread and in others."""
    if "ignore::DeprecationWarning" in (pytestconfig.getoption("pythonwarnings") or ()):
        pytest.skip("beside the lowest releases they are none: see WARNINGS_lowest in the Makefile")
    seen = []

    def warn():
        try:
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        except DeprecationWarning as error:
            seen.append(str(error))

    warn()
    thread = threading.Thread(target=warn)
    thread.start()
    thread.join()

    assert seen == ["old", "old"]


def test_the_compiler_warns_of_no_source():
    """As of `return` in `finally` since Python 3.14. An import does not show it if the bytecode is cached."""
    assert len(SOURCES) > 500
    for path in SOURCES:
        try:
            compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)
        except SyntaxWarning as error:  # noqa: PERF203  # to name the file
            pytest.fail(f"{path}: {error}")
        except SyntaxError:
            # Some tests of the exception counters need Python 3.12, others are about wrong syntax.
            assert "exceptions" in path.parts, path
