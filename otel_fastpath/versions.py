"""Distribution versions, looked up once.

`importlib.metadata.version` searches the whole of sys.path and parses a metadata file at each call, a millisecond or
more. A version that was found is remembered for the life of the process: whoever upgrades a distribution under a
running process still has the modules that it imported before, which is what the answer is about. A distribution that
was not found is looked for again at each call.
"""

from __future__ import annotations

import functools
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable


class _Memory:
    """What one way of looking versions up has found."""

    __slots__ = ("answers",)

    def __init__(self) -> None:
        self.answers: dict[Any, str] = {}


_memories: Final[dict[Callable[[str], str], _Memory]] = {}


def once(lookup: Callable[[str], str]) -> Callable[[str], str]:
    """Make a function that answers as `lookup` did when it was first asked, and raises what it raises.

    Args:
        lookup: `importlib.metadata.version`, or that of the backport, which has exceptions of its own.

    Returns:
        A new function at each call; those of one `lookup` share what they remember. Safe to use from several threads.
    """
    memory = _memories.setdefault(lookup, _Memory())

    @functools.wraps(lookup)
    def version(distribution_name: str) -> str:
        # Taken once: an answer that was on its way when `clear` was called goes where nobody looks any more. Without
        # a lock, since a lookup runs other people's finders, which may be waiting for an import on another thread.
        answers = memory.answers
        try:
            return answers[distribution_name]
        except (KeyError, TypeError):  # TypeError: it is for the lookup to say what is wrong with [] as a name
            pass
        found = lookup(distribution_name)
        # Metadata without a version give None, and are perhaps being written at this moment.
        return answers.setdefault(distribution_name, found) if isinstance(found, str) else found

    return version


version: Final = once(metadata.version)


def clear() -> None:
    """Forget every version, so that each is looked up again."""
    for memory in tuple(_memories.values()):
        memory.answers = {}
