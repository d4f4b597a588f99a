"""Exceptions of every kind, each raised by a function of its name."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from sidebyside import odd_errors

# Python 3.10 has groups from a package, which has the `traceback` module show them.
_groups: Any = (
    sys.modules["builtins"]
    if sys.version_info >= (3, 11)
    else importlib.import_module("exceptiongroup")
    if find_spec("exceptiongroup")
    else None
)


class Own(Exception):  # noqa: N818  # its name shall not end in Error
    """An exception class of a module."""


class Unprintable(Exception):  # noqa: N818  # it says what it is
    """Its text cannot be had."""

    def __str__(self) -> str:
        """Its text."""
        raise RuntimeError("no text")


class Unnamed(Exception):  # noqa: N818  # it says what it is
    """Its module is not a string that says anything."""

    __module__ = ""


class OwnBase(BaseException):
    """Not an error."""


class Moduleless(Exception):  # noqa: N818  # it says what it is
    """Its module is no string at all."""

    __module__ = 5  # type: ignore[assignment]


class WithLocals(Exception):  # noqa: N818  # it says what it is
    """Its text has several lines and more than ASCII."""

    def __str__(self) -> str:
        """Its text."""
        return "first line\n  second line: é \U0001f600"


def plain() -> None:
    """With a message."""
    raise ValueError("it failed")


def wordless() -> None:
    """Without."""
    raise KeyError


def own() -> None:
    """Of a class that is not built in."""
    raise Own("own", 2)


def unprintable() -> None:
    """Whose str() raises."""
    raise Unprintable


def unnamed() -> None:
    """Of an empty module name."""
    raise Unnamed("who?")


def moduleless() -> None:
    """Of a module that has no name."""
    raise Moduleless("who?")


def alternating() -> None:
    """From a recursion over two functions, one line of which is met in two places."""

    def even(number: int) -> int:
        return odd(number - 1) + odd(number - 2) if number else 1 // number

    def odd(number: int) -> int:
        return number and even(number - 1)

    even(12)


def relocated() -> None:
    """Whose traceback was made by hand, with line numbers of a template's."""
    try:
        plain()
    except ValueError as error:
        step = error.__traceback__
        assert step is not None
        frame = step.tb_frame
        made = TracebackType(None, frame, step.tb_lasti, 7)
        made = TracebackType(made, frame, step.tb_lasti, 9)
        raise error.with_traceback(made) from None


def lines() -> None:
    """Whose text has lines."""
    raise WithLocals


def caused() -> None:
    """Raised from another."""
    try:
        plain()
    except ValueError as error:
        raise Own("outer") from error


def in_context() -> None:
    """Raised while another was handled."""
    try:
        plain()
    except ValueError:
        wordless()


def suppressed() -> None:
    """Raised from None while another was handled."""
    try:
        plain()
    except ValueError:
        raise Own("alone") from None


def circular() -> None:
    """Caused by its own consequence."""
    first, second = Own("first"), Own("second")
    first.__cause__, second.__cause__ = second, first
    raise first


def misspelt_name() -> None:
    """With a suggestion for a name."""
    plain_value = 1
    print(plain_valeu)  # type: ignore[name-defined]  # noqa: F821, T201
    del plain_value


def misspelt_attribute() -> None:
    """With a suggestion for an attribute."""
    "text".uper()  # type: ignore[attr-defined]


def missing_import() -> None:
    """With a suggestion for an import."""
    from string import ascii_letter  # type: ignore[attr-defined]  # noqa: F401


def syntax() -> None:
    """That shows source text."""
    compile("one = (\n  two three\n)", "<made up>", "exec")


def _deeper(levels: int) -> None:
    if levels == 0:
        raise RecursionError("deep enough")
    _deeper(levels - 1)


def deep() -> None:
    """From a recursion."""
    _deeper(12)


def from_exec() -> None:
    """From code without a source file."""
    exec("def inner():\n    raise OSError(2, 'no such thing')\ninner()", {})  # noqa: S102  # its frames are the point


def long_line() -> None:
    """Where the failing expression spans lines."""
    sum(
        number / (number - 3)
        for number in range(
            10,
        )
    )


def stop() -> None:
    """What ends an iteration."""
    raise StopIteration("over")


def stop_async() -> None:
    """What ends an asynchronous one."""
    raise StopAsyncIteration


def stop_runtime() -> None:
    """A RuntimeError because of a StopIteration."""
    try:
        stop()
    except StopIteration as error:
        raise RuntimeError("generator raised StopIteration") from error


def interrupt() -> None:
    """Not an Exception."""
    raise KeyboardInterrupt


def leave() -> None:
    """Neither."""
    raise SystemExit(3)


def close() -> None:
    """What closes a generator."""
    raise GeneratorExit


def own_base() -> None:
    """A BaseException of a module."""
    raise OwnBase("base")


def noted() -> None:
    """With notes."""
    error = Own("noted")
    error.add_note("a note\nof two lines")  # type: ignore[attr-defined]
    raise error


def grouped() -> None:
    """Several at once."""
    found: list[Exception] = []
    for function in (plain, caused, deep):
        try:
            function()
        except Exception as error:  # noqa: PERF203  # any of them
            found.append(error)
    group = _groups.ExceptionGroup
    raise group("several", [*found, group("inner", [KeyError("k")])])


def caused_by_group() -> None:
    """Raised from several at once."""
    try:
        grouped()
    except Exception as error:
        raise Own("because of them") from error


RAISERS = {
    function.__name__: function
    for function in (
        plain,
        wordless,
        own,
        unprintable,
        unnamed,
        moduleless,
        alternating,
        relocated,
        lines,
        caused,
        in_context,
        suppressed,
        circular,
        misspelt_name,
        misspelt_attribute,
        missing_import,
        syntax,
        deep,
        from_exec,
        long_line,
        stop,
        stop_async,
        stop_runtime,
        interrupt,
        leave,
        close,
        own_base,
    )
} | odd_errors.RAISERS
if sys.version_info >= (3, 11):
    RAISERS |= {"noted": noted}
if _groups is not None:
    RAISERS |= {"grouped": grouped, "caused_by_group": caused_by_group}


def made(name: str) -> BaseException:
    """The exception, raised and caught."""
    try:
        RAISERS[name]()
    except BaseException as error:  # it is the result
        return error
    raise AssertionError(f"{name} raised nothing")
