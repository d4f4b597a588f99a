"""Marks of tests of what CPython does otherwise without the interpreter lock."""

from __future__ import annotations

import sys

import pytest

from otel_fastpath.patching.interpreter import FREE_THREADED

forks_among_threads = pytest.mark.skipif(
    FREE_THREADED,
    reason="CPython's own lock of an object that a thread of the parent held can stay locked in the child, with "
    "OpenTelemetry alone, too: docs/free-threaded.md",
)
frees_classes_and_functions = pytest.mark.skipif(
    FREE_THREADED and sys.version_info < (3, 14), reason="3.13t keeps every class and function for ever"
)
