"""The paths that a command line asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hotpaths.hosts import HOSTS
from hotpaths.paths import PATHS

if TYPE_CHECKING:
    from collections.abc import Sequence


def chosen(asked: Sequence[str]) -> list[str]:
    """The paths that are asked for: one of this name, or else those whose names contain the text, in any case.

    Raises:
        ValueError: There is none.
    """
    every = [*PATHS, *HOSTS]
    found: list[str] = []
    for text in asked:
        wanted = text.casefold()
        exact = [name for name in every if name.casefold() == wanted]
        matching = exact or [name for name in every if wanted in name.casefold()]
        if not matching:
            raise ValueError(f"no path is called {text!r}: there are {'; '.join(every)}")
        found += matching
    return [name for name in every if name in found] if asked else every
