"""Programs that load few instrumentations: each that is installed would import its library at every start."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points


@functools.cache
def all_but(*names: str) -> str:
    """What OTEL_PYTHON_DISABLED_INSTRUMENTATIONS is set to, so that only these are loaded."""
    return ",".join(sorted({each.name for each in entry_points(group="opentelemetry_instrumentor")}.difference(names)))
