"""Caches bounded by the memory of their entries, of one dict or of several, and two bounded by their number.

All forget their oldest entries.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.sharing import critical_section

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _R = TypeVar("_R")


# How many entries a dict has, if nothing else is said.
MOST: Final = 512
# Of a full dict, this share is forgotten at once: to find the oldest entry takes a look at all.
_SHARE: Final = 16


def keep(known: dict[Any, Any], key: Any, value: Any, most: int = MOST) -> None:
    """Keep a value under a key; the oldest entries of a dict that has this many make room. No lock is needed."""
    if len(known) >= most:
        # A copy: another thread may change the dict meanwhile.
        for oldest in list(known)[: most // _SHARE + 1]:
            known.pop(oldest, None)
    known[key] = value


def remembering(most: int) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """Decorate a function that is called once for each of its arguments, which must be hashable.

    `functools.lru_cache` has a lock on free-threaded builds, which is held while the function runs: a process that
    forks meanwhile leaves its child with a lock that nobody releases.

    Args:
        most: How many results are kept.
    """

    def decorate(function: Callable[..., _R]) -> Callable[..., _R]:
        known: dict[tuple[Any, ...], _R] = {}

        @functools.wraps(function)
        def remembered(*arguments: Any) -> _R:
            try:
                return known[arguments]
            except KeyError:
                made = function(*arguments)
            keep(known, arguments, made, most)
            return made

        return remembered

    return decorate


class Cache:
    """Keeps results by key, up to a total size in bytes: the oldest make room for a new one.

    Reading is a dict look-up: `cache.items.get(key)`. No lock is needed.

    Args:
        most: The maximum total size in bytes. Callers of `keep` pass the size of each entry.
        largest: Entries larger than this are not kept; by default a 64th of `most`.

    Attributes:
        items: The entries. Always the same dict object, so that hot code can keep a reference to it.
    """

    __slots__ = ("_bytes", "_largest", "_most", "_order", "items")

    def __init__(self, most: int, largest: int | None = None) -> None:
        self.items: dict[Any, Any] = {}
        self._most = most
        self._largest = most // 64 if largest is None else largest
        self._bytes = 0
        # The key and the size of each entry, the oldest first.
        self._order: deque[tuple[Any, int]] = deque()

    @critical_section
    def keep(self, key: Any, value: Any, size: int) -> None:
        """Keep an entry.

        Args:
            key: The key, which must be hashable.
            value: The value.
            size: The approximate size of key and value in bytes (`sys.getsizeof` of the strings in them).
        """
        if size > self._largest:
            return
        self._bytes += size
        while self._bytes > self._most and self._order:
            oldest, freed = self._order.popleft()
            self._bytes -= freed
            self.items.pop(oldest, None)
        # First the entry: another thread that makes room would else take the key before there is something to remove.
        self.items[key] = value
        self._order.append((key, size))

    @critical_section
    def clear(self) -> None:
        """Remove all entries."""
        # First the count: what another thread adds in between is then counted without being kept, and not the reverse.
        self._bytes = 0
        self._order.clear()
        self.items.clear()


class SharedCache:
    """Keeps results in several dicts, up to a total size in bytes: the oldest entries of all make room for a new one.

    Reading is a look-up in one of the dicts, which are the callers'. No lock is needed.

    Args:
        most: The maximum total size in bytes. Callers of `keep` pass the size of each entry.
    """

    __slots__ = ("_bytes", "_largest", "_most", "_order")

    def __init__(self, most: int) -> None:
        self._most = most
        self._largest = most // 64
        self._bytes = 0
        # The dict, the key and the size of each entry, the oldest first.
        self._order: deque[tuple[dict[Any, Any], Any, int]] = deque()

    @critical_section
    def keep(self, items: dict[Any, Any], key: Any, value: Any, size: int) -> None:
        """Keep an entry; a large one is not kept.

        Args:
            items: The dict.
            key: The key, which must be hashable.
            value: The value.
            size: The approximate size of key and value in bytes (`sys.getsizeof` of the strings in them).
        """
        if size > self._largest:
            return
        self._bytes += size
        while self._bytes > self._most:
            oldest, name, freed = self._order.popleft()
            self._bytes -= freed
            oldest.pop(name, None)
        # As in `Cache.keep`.
        items[key] = value
        self._order.append((items, key, size))

    @critical_section
    def clear(self) -> None:
        """Remove all entries."""
        self._bytes = 0
        order, self._order = self._order, deque()
        for items, key, _ in order:
            items.pop(key, None)
