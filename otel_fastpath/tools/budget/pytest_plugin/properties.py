"""Results as properties of a test: pytest-xdist's workers send them in this form, and JUnit reports show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.tools.budget.results import Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

# The prefix of the properties' names.
PREFIX: Final = "overhead."
_FIELDS: Final = (
    "scenario",
    "limit",
    "verdict",
    "value",
    "unit",
    "most",
    "low",
    "high",
    "reason",
    "bare_us",
    "instrumented_us",
)


def to_properties(results: Iterable[Result]) -> list[tuple[str, Any]]:
    """Convert results to properties of a test."""
    found: list[tuple[str, Any]] = []
    used: dict[str, int] = {}
    for result in results:
        used[result.metric] = used.get(result.metric, 0) + 1
        key = result.metric if used[result.metric] == 1 else f"{result.metric}#{used[result.metric]}"
        for field in _FIELDS:
            value = result.details.get(field) if field.endswith("_us") else getattr(result, field)
            if value not in (None, ""):
                found.append((f"{PREFIX}{key}.{field}", value.value if isinstance(value, Verdict) else value))
    return found


def from_properties(properties: Iterable[tuple[str, Any]]) -> list[Result]:
    """Read results from the properties of a test."""
    fields: dict[str, dict[str, Any]] = {}
    for name, value in properties:
        if name.startswith(PREFIX):
            key, _, field = name[len(PREFIX) :].rpartition(".")
            fields.setdefault(key, {})[field] = value
    results = []
    for key, found in fields.items():
        details = {field: found.pop(field) for field in tuple(found) if field.endswith("_us")}
        found["verdict"] = Verdict(found["verdict"])
        results.append(Result(metric=key.partition("#")[0], details=details, **found))
    return results
