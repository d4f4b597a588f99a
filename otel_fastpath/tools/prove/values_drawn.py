"""Names, values and attributes, drawn at random: what applications use, and some of what they should not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

NAMES: Final = ("GET /items", "work", "checkout", "имя", "", "a" * 40)
KEYS: Final = ("http.route", "user.id", "count", "ratio", "ok", "tags", "key")
TEXTS: Final = ("", "x", "value", "a longer value than that", "naïve \U0001f600")


class _Worded:
    """Nothing that an attribute can be, but a text says what it is."""

    def __str__(self) -> str:
        return "in words"


class _Wordless:
    """Nothing that an attribute can be, nor does anything say what it is."""


WORDED: Final = _Worded()
WORDLESS: Final = _Wordless()
# What applications should not use: stock leaves it out or makes a text of it.
_ODD: Final[tuple[Any, ...]] = (
    WORDED,
    WORDLESS,
    {"inner": {5: "five", "": 0, WORDED: [None, {"deep": "a longer value"}], WORDLESS: 1}},
    [1, "mixed", None, {"in": ("a", WORDED)}],
    {1},
    1 << 70,
    bytearray(b"changes"),
)
_ODD_ONE_IN: Final = 8


def value(draw: random.Random) -> Any:
    """A value of an attribute."""
    return draw.choice(_ODD) if draw.randrange(_ODD_ONE_IN) == 0 else body(draw)


def body(draw: random.Random) -> Any:
    """A value that can be exported as it is, as the body of a log record must be."""
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


def attributes(draw: random.Random, most: int = 5, make: Callable[[random.Random], Any] = value) -> dict[str, Any]:
    """Some attributes, with values that this function draws."""
    return {key: make(draw) for key in draw.sample(KEYS, draw.randrange(most))}


class OwnError(LookupError):
    """An exception that is not Python's own."""


def fail(draw: random.Random) -> None:
    """Raise a `LookupError`."""
    raise draw.choice((LookupError, KeyError, OwnError))(draw.choice(TEXTS))


def maybe(draw: random.Random, one_in: int, **arguments: Any) -> dict[str, Any]:
    """Each of these arguments in one of so many cases."""
    return {name: each for name, each in arguments.items() if draw.randrange(one_in) == 0}
