"""A cache that is bounded by the memory that it keeps, not by the number of its entries."""

from __future__ import annotations

from typing import Any


class Cache:
    """Results kept by key, up to a number of bytes. When it is full it is emptied.

    Reading is `cache.items.get(key)`: a look-up in a dict, nothing else. Threads need no lock: two that keep an entry
    at once can only make the count of bytes inexact, by the size of that entry, until the cache is next emptied.

    Args:
        most: How many bytes are kept, as counted by who hands them in.
        largest: An entry of more bytes is not kept at all; by default a 64th of `most`.

    Attributes:
        items: The entries. Always the same dict, so that hot code can hold it.
    """

    __slots__ = ("_bytes", "_largest", "_most", "items")

    def __init__(self, most: int, largest: int | None = None) -> None:
        self.items: dict[Any, Any] = {}
        self._most = most
        self._largest = most // 64 if largest is None else largest
        self._bytes = 0

    def keep(self, key: Any, value: Any, size: int) -> None:
        """Keep an entry.

        Args:
            key: Hashable.
            value: What `items` gives for it.
            size: How many bytes the key and the value take, roughly (`sys.getsizeof` of the texts in them).
        """
        if size > self._largest:
            return
        if self._bytes + size > self._most:
            self.clear()
        self._bytes += size
        self.items[key] = value

    def clear(self) -> None:
        """Forget everything."""
        self.items.clear()
        self._bytes = 0
