"""Checks at the start whether instrumentations fit the installed libraries, without the email parser.

`opentelemetry-instrument` asks each instrumentation's distribution twice for its requirements, and each library's for
its version. Its own functions still decide: they get the same answers, read from the same files.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any, Final

from opentelemetry.instrumentation import dependencies

from otel_fastpath.patching.interpreter import read_field
from otel_fastpath.patching.swapping.swap import Swap

_LOADER: Final = "opentelemetry.instrumentation.auto_instrumentation._load"
_CHECK: Final = "get_dist_dependency_conflicts"


class Requirements:
    """A distribution whose `requires` is read without the email parser; everything else is its own.

    Args:
        distribution: The distribution.
    """

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    @property
    def requires(self) -> list[str] | None:
        """What the distribution requires (PEP 508)."""
        return _read(self._distribution, "Requires-Dist") or self._distribution.requires

    def __getattr__(self, name: str) -> Any:
        """Anything else."""
        return getattr(self._distribution, name)


def read_version(name: str) -> str:
    """What `importlib.metadata.version` returns.

    Raises:
        importlib.metadata.PackageNotFoundError: No distribution of this name is installed.
    """
    distribution = metadata.distribution(name)
    values = _read(distribution, "Version")
    return values[0] if values else distribution.version


def _read(distribution: Any, name: str) -> list[str]:
    """The values of a field; none if the distribution's class may read them from somewhere else."""
    return read_field(distribution, name) if type(distribution) is metadata.PathDistribution else []


def replace_readers() -> list[Swap]:
    """Put in place what reads the metadata, where OpenTelemetry asks for them; returns what takes it off again."""
    placed = []
    loader = sys.modules.get(_LOADER)
    if loader is not None and getattr(loader, _CHECK, loader) is getattr(dependencies, _CHECK, None):
        check = getattr(loader, _CHECK)
        placed.append(swap := Swap(loader, _CHECK))
        swap.put(lambda distribution: check(distribution and Requirements(distribution)))
    if getattr(dependencies, "version", None) is metadata.version:
        placed.append(swap := Swap(dependencies, "version"))
        swap.put(read_version)
    return placed
