"""Names, values and attributes, drawn at random: what applications use, and some of what they should not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

NAMES: Final = ("GET /items", "work", "checkout", "имя", "", "a" * 40)
KEYS: Final = ("http.route", "user.id", "count", "ratio", "ok", "tags", "key")
TEXTS: Final = ("", "x", "value", "a longer value than that", "naïve \U0001f600")


def value(draw: random.Random) -> Any:
    """A value of an attribute."""
    return draw.choice(
        (
            draw.choice(TEXTS),
            draw.choice(TEXTS),
            draw.randrange(-5, 500),
            draw.choice((0.5, -1.25, 1e9)),
            draw.choice((True, False)),
            ["a", "b"],
            (1, 2, 3),
            {"inner": 1},
            None,
            b"bytes",
        )
    )


def attributes(draw: random.Random, most: int = 5) -> dict[str, Any]:
    """Some attributes."""
    return {key: value(draw) for key in draw.sample(KEYS, draw.randrange(most))}


class ProgramError(LookupError):
    """An exception that is not Python's own."""


def fail(draw: random.Random) -> None:
    """Raise a `LookupError`."""
    raise draw.choice((LookupError, KeyError, ProgramError))(draw.choice(TEXTS))


def maybe(draw: random.Random, one_in: int, **arguments: Any) -> dict[str, Any]:
    """Each of these arguments in one of so many cases."""
    return {name: each for name, each in arguments.items() if draw.randrange(one_in) == 0}
