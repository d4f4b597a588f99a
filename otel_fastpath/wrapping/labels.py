"""The labels of a library's metrics: their number is bounded, whatever names an application or a stranger makes up.

A name in a query, such as a table, a channel or a command, is chosen by the application, and so is that of a model, a
file or a host. Each new set of labels is a series that the SDK keeps for ever. Spans have all names.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath import left_out
from otel_fastpath.compiled.sharing import critical_section

MOST_SETS: Final = 1000
MOST_SERVERS: Final = 200
_WHY: Final = "Its metrics have more than {} sets of labels; these have no {} from now on."


class Labels:
    """The sets of labels of one set-up.

    Args:
        library: The name of the library, for the counts.
        of_calls: The labels that calls have few of: beyond the limit of sets, they are left out.
        of_servers: Those of servers, likewise.
    """

    __slots__ = ("_library", "_of_calls", "_of_servers", "_servers", "_sets")

    def __init__(self, library: str, of_calls: tuple[str, ...], of_servers: tuple[str, ...]) -> None:
        self._library = library
        self._of_calls = of_calls
        self._of_servers = of_servers
        self._sets: set[Any] = set()
        self._servers: set[Any] = set()

    def bounded(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """These labels; without the names of the call, or of the server, where there are too many sets already."""
        found = self._kept(self._servers, MOST_SERVERS, attributes, self._of_servers)
        return self._kept(self._sets, MOST_SETS, found, self._of_calls)

    def _kept(self, known: set[Any], most: int, attributes: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        key = tuple([(name, value) for name, value in attributes.items() if name in names or names is self._of_calls])
        if not any(name in attributes for name in names) or _try_admit(known, most, key):
            return attributes
        left = [name for name in names if name in attributes]
        for name in left:
            left_out.add(f"{name} of {self._library}'s metrics", _WHY.format(most, name))
        return {name: value for name, value in attributes.items() if name not in left}


@critical_section
def _try_admit(known: set[Any], most: int, key: Any) -> bool:
    """Whether the set is among those that are known, or there is room for it."""
    if key in known:
        return True
    if len(known) >= most:
        return False
    known.add(key)
    return True
