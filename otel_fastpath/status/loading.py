"""Which instrumentations of this environment `opentelemetry-instrument` does not load, and why."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Final

from opentelemetry.instrumentation.dependencies import get_dist_dependency_conflicts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_GROUP: Final = "opentelemetry_instrumentor"


def problems(disabled: Collection[str] = (), *, imports: bool = False) -> Iterator[str]:
    """One sentence for each instrumentation that is installed and fails to load.

    An instrumentation of a library that is not installed is no problem.

    Args:
        disabled: The names of entry points that are not loaded on purpose; "*" stands for all of them.
        imports: Whether the instrumentations are imported to find those that cannot be, with the libraries that they
            import.
    """
    for entry_point in metadata.entry_points(group=_GROUP):
        if entry_point.name in disabled or "*" in disabled:
            continue
        try:
            conflict = entry_point.dist and get_dist_dependency_conflicts(entry_point.dist)
            if conflict:
                found = conflict.found or ", ".join(conflict.found_any or ())
                required = " or ".join(
                    str(requirement).partition(";")[0]
                    for requirement in [conflict.required, *(conflict.required_any or ())]
                    if requirement
                )
                if found:
                    yield f"{entry_point.name}: it needs {required}, and {found} is installed."
            elif imports:
                entry_point.load()
        except (Exception, SystemExit) as error:  # an instrumentation may raise anything when it is imported
            yield f"{entry_point.name}: {' '.join(f'{type(error).__name__}: {error}'.split())}"
