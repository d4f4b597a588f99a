"""The source fingerprints that the patches of third-party OpenAI instrumentations were written against."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from otel_fastpath.patching.sources.guard import SkipError, check_source
from otel_fastpath.patching.sources.known import Known

# Written by tests/others/openai_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_suffix(".json"))
# The fingerprints of each "module:qualified.name" in every release that was read and has the code to replace.
sources: Final = KNOWN.sources


def check_inside(module: Any, name: str) -> None:
    """Check the function that Traceloop's `dont_throw` wraps without a `__wrapped__` attribute.

    Raises:
        SkipError: The function has no known fingerprint.
    """
    outer: Any = getattr(module, name, None)
    cells = getattr(outer, "__closure__", None) or ()
    names = outer.__code__.co_freevars if cells else ()
    inner = next((cell.cell_contents for free, cell in zip(names, cells, strict=True) if free == "func"), outer)
    place = f"{module.__name__}:{name}"
    if inner is None:
        raise SkipError(f"the source of {place} cannot be read")
    check_source(place, inner, sources(place)[place])
