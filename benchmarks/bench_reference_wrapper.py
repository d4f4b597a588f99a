"""The budget of the reference wrapper in examples/, around a statement of sqlite3."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bench_span
import setups

sys.path.insert(0, str(Path(__file__).parents[1]))

QUERY = "SELECT 1 WHERE 1 = ?"


class Given:
    """The objects that the callables of this file use.

    Attributes:
        bare: A cursor of sqlite3.
        cursor: A cursor that is instrumented.
    """

    def __init__(self, core: str) -> None:
        import sqlite3  # noqa: PLC0415  # only where it is measured

        from examples.reference_wrapper.sqlite3_wrapper import LIBRARY  # noqa: PLC0415  # likewise
        from otel_fastpath.settings import Config  # noqa: PLC0415  # likewise
        from otel_fastpath.wrapping.library import Wrapper  # noqa: PLC0415  # likewise

        setups.instrument(core)
        self.bare = sqlite3.connect(":memory:").cursor()
        config = Config(telemetry="full", libraries={"sqlite3_options": "no-metrics"})
        Wrapper(LIBRARY).install(config, config.off, {"tracer_provider": bench_span.Given().provider})
        self.cursor = sqlite3.connect(":memory:").cursor()


def compiled() -> Given:
    """With the compiled core."""
    return Given("c")


def pure() -> Given:
    """With the pure core."""
    return Given("py")


def execute_bare(given: Given) -> Any:
    """sqlite3's own."""
    return given.bare.execute(QUERY, (1,))


def execute(given: Given) -> Any:
    """The hook around it."""
    return given.cursor.execute(QUERY, (1,))
