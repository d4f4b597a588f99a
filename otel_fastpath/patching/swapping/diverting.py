"""Makes functions and `partial` objects that other code holds already run another function.

`swap` replaces an attribute, which later look-ups see. Who took the function out of the attribute before still has it:
its code object is exchanged here for one that passes every call on to the replacement.
"""

from __future__ import annotations

import weakref
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching.swapping import swap

if TYPE_CHECKING:
    import functools
    from collections.abc import Callable


class Diversions:
    """The functions and partial objects that one patch has diverted."""

    def __init__(self) -> None:
        # Each has the copy, and what makes the replacement of it: a variable of a closure may refer to the closure.
        self._functions: weakref.WeakSet[FunctionType] = weakref.WeakSet()
        self._partials: weakref.WeakKeyDictionary[Any, tuple[Any, ...]] = weakref.WeakKeyDictionary()

    def divert(self, function: Any, make: Callable[[Any], Any], *, packed: bool = False) -> FunctionType | None:
        """Let every call of the function run a replacement.

        Args:
            function: A Python function that is no generator.
            make: Called with a copy of the function, which runs its own code; returns the replacement, which must be a
                coroutine function if the function is one.
            packed: Whether that takes the arguments as a tuple, and those by keyword as a dict.

        Returns:
            The copy; None if the function is not diverted: it is already, or is not a Python function.
        """
        if type(function) is not FunctionType or swap.is_handing_on(function):
            return None
        copy = _copy(function)
        swap.hand_on(function, make(copy), packed=packed)
        swap.keep_with(function, (copy, make))
        self._functions.add(function)
        return copy

    def rebind(self, bound: functools.partial[Any], function: Callable[..., Any]) -> None:
        """Let a partial object call this function, without the arguments that it has.

        A call that has to combine eleven keyword arguments with others takes 19,000 instructions.
        """
        # Like pickle. The next call reads the new state; one that has begun has read all of the old one.
        self._partials[bound] = bound.func, bound.args, bound.keywords, None
        bound.__setstate__((function, (), {}, None))  # type: ignore[attr-defined]  # a method of C

    def diverted(self) -> list[Any]:
        """The functions and partial objects that are diverted."""
        return [*self._functions, *self._partials.keys()]

    def replacement(self, function: Any) -> Any:
        """What one of `diverted` runs now."""
        return function.func if function in self._partials else swap.receiver(function)

    def redirect(self, function: Any, replacement: Any) -> None:
        """Let one of `diverted` run another replacement; nothing if it is no longer diverted."""
        if function in self._partials:
            function.__setstate__((replacement, (), {}, None))
        elif function in self._functions:
            swap.redirect(function, replacement)

    def twin(self, function: Any, variable: str, change: Callable[[Any], Any]) -> Any:
        """Make the replacement of a diverted function again, as if a variable of its closure had another value.

        Args:
            function: The diverted function.
            variable: The name of the variable.
            change: Called with the value of the variable; returns the other value.

        Raises:
            KeyError: The function is not diverted.
        """
        if function not in self._functions:
            raise KeyError(function)
        copy, make = swap.kept_with(function)
        cells = zip(copy.__code__.co_freevars, copy.__closure__ or (), strict=True)
        return make(
            _copy(copy, tuple(CellType(change(c.cell_contents)) if name == variable else c for name, c in cells))
        )

    def undo(self) -> None:
        """Let everything that was diverted do again what it did."""
        for function in tuple(self._functions):
            swap.revive(function)
        self._functions.clear()
        for bound, state in tuple(self._partials.items()):
            bound.__setstate__(state)
        self._partials.clear()


def _copy(function: FunctionType, closure: tuple[CellType, ...] | None = None) -> FunctionType:
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        closure or function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__ and dict(function.__kwdefaults__)
    made.__qualname__ = function.__qualname__
    return made
