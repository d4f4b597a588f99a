"""What the pure core knows of the attribute sets that were recorded before."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import Any


class Known:
    """Attribute sets and what was learnt of each.

    They are found by the standard library's own cache of calls: no key that is made in Python is as cheap, and its keys
    tell types apart. What is not known raises, so that nothing of it is kept.

    Attributes:
        find: Called with the attributes as keywords; raises LookupError where they are not known.
    """

    __slots__ = ("_learning", "find")

    def __init__(self) -> None:
        self._learning: tuple[dict[str, Any], Any] = ({}, None)
        self.find = functools.lru_cache(maxsize=None, typed=True)(self._learnt)

    def __len__(self) -> int:
        """How many are known."""
        return self.find.cache_info().currsize

    def learn(self, attributes: dict[str, Any], what: Any) -> None:
        """Know this from now on."""
        self._learning = (attributes, what)
        with suppress(LookupError):
            # Another thread can be learning: what comes later is what is known.
            self.find(**attributes)

    def clear(self) -> None:
        """Know nothing any more."""
        self._learning = ({}, None)
        self.find.cache_clear()

    def _learnt(self, /, **attributes: Any) -> Any:
        learning, what = self._learning
        if what is None or _typed(learning) != _typed(attributes):
            raise LookupError
        return what


def _typed(attributes: dict[str, Any]) -> list[Any]:
    return [(key, type(value), value) for key, value in attributes.items()]
