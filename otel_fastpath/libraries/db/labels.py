"""The labels of a database's metrics: their number is bounded, whatever names an application makes up.

A name in a query, such as a table, a channel or a command, is chosen by the application, and so is that of a file or a
host. Each new set of labels is a series that the SDK keeps for ever. Spans have all names.
"""

from __future__ import annotations

from typing import Any, Final

from otel_fastpath import left_out
from otel_fastpath.compiled.sharing import critical_section

# The conventions allow these in metrics because queries have few of them.
_OF_QUERIES: Final = ("db.query.summary", "db.operation.name", "db.stored_procedure.name")
_OF_SERVERS: Final = ("db.namespace", "server.address", "server.port", "db.client.connection.pool.name")
MOST_SETS: Final = 1000
MOST_SERVERS: Final = 200
_WHY: Final = "Its metrics have more than {} sets of labels; these have no {} from now on."


class Labels:
    """The sets of labels of one set-up.

    Args:
        library: The name of the library, for the counts.
    """

    __slots__ = ("_library", "_servers", "_sets")

    def __init__(self, library: str) -> None:
        self._library = library
        self._sets: set[Any] = set()
        self._servers: set[Any] = set()

    def bounded(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """These labels; without the names of the query, or of the server, where there are too many sets already."""
        found = self._kept(self._servers, MOST_SERVERS, attributes, _OF_SERVERS)
        return self._kept(self._sets, MOST_SETS, found, _OF_QUERIES)

    def _kept(self, known: set[Any], most: int, attributes: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        key = tuple([(name, value) for name, value in attributes.items() if name in names or names is _OF_QUERIES])
        if not any(name in attributes for name in names) or _is_within(known, most, key):
            return attributes
        left = [name for name in names if name in attributes]
        for name in left:
            left_out.add(f"{name} of {self._library}'s metrics", _WHY.format(most, name))
        return {name: value for name, value in attributes.items() if name not in left}


@critical_section
def _is_within(known: set[Any], most: int, key: Any) -> bool:
    """Whether the set is among those that are known, or there is room for it."""
    if key in known:
        return True
    if len(known) >= most:
        return False
    known.add(key)
    return True
