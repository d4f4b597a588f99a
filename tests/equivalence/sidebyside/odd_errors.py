"""Exceptions that come from long recursions, or whose own methods surprise whoever formats them."""

from __future__ import annotations


class WithoutNotes(Exception):  # noqa: N818  # it says what it is
    """An attribute that it does not have is an error of a kind that nobody expects."""

    def __getattr__(self, name: str) -> object:
        """Look it up among what a service answered."""
        return {"status": 500}[name]


class Empty(Exception):  # noqa: N818  # it says what it is
    """False, as a list without items."""

    def __len__(self) -> int:
        """How many."""
        return 0


class Undecided(Exception):  # noqa: N818  # it says what it is
    """Neither true nor false."""

    def __bool__(self) -> bool:
        """Whether it is."""
        raise RuntimeError("neither")


class _Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "the text"

    def __format__(self, _spec: str) -> str:
        return "formatted"


class WithText(Exception):  # noqa: N818  # it says what it is
    """Its text is an instance of a subclass, which has another text."""

    def __str__(self) -> str:
        """Its text."""
        return _Text()


def very_deep() -> None:
    """From a long recursion, which goes over another function at times."""

    def deeper(levels: int) -> int:
        return deeper(levels - 1) if levels % 150 else over(levels)

    def over(levels: int) -> int:
        return deeper(levels - 1) if levels else 1 // levels

    deeper(449)


def by_turns() -> None:
    """From a long recursion over two functions."""

    def even(number: int) -> int:
        return odd(number - 1) if number else 1 // number

    def odd(number: int) -> int:
        return even(number - 1)

    even(300)


def without_notes() -> None:
    """Whose notes cannot be had."""
    raise WithoutNotes("no notes")


def empty() -> None:
    """That is false, raised while another was handled."""
    try:
        int("x")
    except ValueError:
        raise Empty  # noqa: B904  # it has a context


def caused_by_empty() -> None:
    """Whose cause is false, and has one itself."""
    try:
        try:
            int("x")
        except ValueError as error:
            raise Empty("cause") from error
    except Empty as error:
        raise LookupError("outer") from error


def undecided() -> None:
    """That cannot be asked whether it is true."""
    raise Undecided("which?")


def with_text() -> None:
    """Whose text has a text."""
    raise WithText


RAISERS = {
    function.__name__: function
    for function in (very_deep, by_turns, without_notes, empty, caused_by_empty, undecided, with_text)
}
