"""Cached look-ups of distribution versions.

`importlib.metadata.version` searches the whole of sys.path and parses a metadata file at each call, which takes a
millisecond or more. A version that was found is cached for the life of the process: if a distribution is upgraded
meanwhile, the process still runs the modules that it imported before. A distribution that was not found is looked up
again at each call.
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable


class _Memory:
    """The versions that one look-up function has found."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers: dict[Any, str] = {}


_memories: Final[dict[Callable[[str], str], _Memory]] = {}


def once(lookup: Callable[[str], str]) -> Callable[[str], str]:
    """Wrap a look-up function so that it caches the versions that it finds; exceptions are not cached.

    Args:
        lookup: `importlib.metadata.version`, or that of the backport, which has its own exceptions.

    Returns:
        A new function at each call; those for the same `lookup` share their cache. Thread-safe.
    """
    memory = _memories.setdefault(lookup, _Memory())

    @functools.wraps(lookup)
    def version(distribution_name: str) -> str:
        # Read once: a look-up that is running when `clear` is called then stores its result in the old dict. There is
        # no lock, because a look-up runs third-party finders, which may wait for an import on another thread.
        answers = memory.answers
        try:
            return answers[distribution_name]
        except (KeyError, TypeError):  # TypeError: the name is not hashable, and `lookup` must raise the error
            pass
        found = lookup(distribution_name)
        # None: the metadata has no version; it may be just being written.
        return answers.setdefault(distribution_name, found) if isinstance(found, str) else found

    return version


version: Final = once(metadata.version)


def clear() -> None:
    """Clear the cache, so that versions are looked up again."""
    for memory in tuple(_memories.values()):
        memory.answers = {}
