"""Why stock's code runs where a patch would: which release changed which function, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from packaging.version import InvalidVersion, Version

from otel_fastpath.patching import interpreter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from otel_fastpath.patching.patch import Row

ADVICE: Final = "`otel-fastpath prove` may accept it"


@dataclass(frozen=True)
class Cause:
    """A function that a release changed.

    Attributes:
        distribution: The distribution, e.g. "opentelemetry-sdk".
        version: Its version; "?" if it is not known.
        function: The function, as "module:qualified.name".
        costs: Patch -> what the code that it would replace costs.
    """

    distribution: str
    version: str
    function: str
    costs: dict[str, str]


def causes(rows: Sequence[Row]) -> tuple[Cause, ...]:
    """The functions that are not known, of the newest release first, and the patches that leave them to stock."""
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.unknown:
            found.setdefault(row.unknown, {})[row.name] = row.why
    every = [Cause(*_release(function), function, costs) for function, costs in found.items()]
    return tuple(sorted(every, key=lambda cause: _order(cause.version), reverse=True))


def _release(function: str) -> tuple[str, str]:
    distribution = interpreter.distribution_of(function.partition(":")[0])
    return distribution, interpreter.version(distribution) or "?"


def _order(version: str) -> Version:
    try:
        return Version(version)
    except InvalidVersion:
        return Version("0")
