"""Keeps what was made for one kind of call for the next one, in bounded memory: strangers choose some of the kinds."""

from __future__ import annotations

from typing import Any, Final

# So many kinds are kept by default, each of texts that are no longer than this in total.
MOST: Final = 512
LONGEST: Final = 1024
# So many kinds of answers are kept of each kind of call.
MOST_ANSWERS: Final = 64


def keep(known: dict[Any, Any], key: Any, value: Any, most: int = MOST) -> None:
    """Keep a value under a key; a dict that has this many is emptied first: what is in use comes back soon."""
    if len(known) >= most:
        known.clear()
    known[key] = value
