"""Functions that stock's set-up makes for each application, and keeps: closures.

A closure calls our function once it is handed over, whether the stock instrumentation or this package was set up
first; when the patch is removed, it runs its own code again. It stays the same object: frameworks have lists of them.
"""

from __future__ import annotations

import functools
import gc
import math
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults
from otel_fastpath.patching.interpreter import CPYTHON, FREE_THREADED
from otel_fastpath.patching.patch import SkipError
from otel_fastpath.patching.swapping.diverting import Diversions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Closures:
    """The closures that one function of stock's makes.

    Args:
        name: The name of the closure in that function.

    Attributes:
        diversions: The closures that are handed over.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.diversions = Diversions()

    def take_over(self, factory: Any, make: Callable[..., Any]) -> Any:
        """Hand over the closures that there are, and make the function that hands over the next ones.

        Args:
            factory: Stock's function.
            make: Called with a copy of the closure that runs stock's code, and the closure's variables by keyword;
                returns our function.

        Raises:
            SkipError: The function makes no such closure.
        """
        number = _number_made(factory, self._name)
        code = _code_of(factory, self._name)
        if code is None:
            raise SkipError(f"it makes no function {self._name}")
        for function in _functions(sys.modules[factory.__module__], code, number):
            self._hand_over(function, make)

        @functools.wraps(factory)
        def made(*args: Any, **kwargs: Any) -> Any:
            function = factory(*args, **kwargs)
            # Not the variable above, which would count as a closure that was made.
            if type(function) is FunctionType and function.__code__ is _code_of(factory, self._name):
                self._hand_over(function, make)
            return function

        return made

    def _hand_over(self, function: FunctionType, make: Callable[..., Any]) -> None:
        try:
            self.diversions.divert(function, lambda copy: make(copy, **_variables(copy)))
        except Exception as error:
            faults.absorb_any("taking over an instrumented application", error)


def _variables(closure: FunctionType) -> dict[str, Any]:
    names, cells = closure.__code__.co_freevars, closure.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True)}


def _code_of(factory: Any, name: str) -> CodeType | None:
    constants = factory.__code__.co_consts
    return next((each for each in constants if type(each) is CodeType and each.co_name == name), None)


def _number_made(factory: Any, name: str) -> float:
    """How many closures there are at most: each is a reference to their code. Without reference counts, infinite."""
    if not CPYTHON or FREE_THREADED:
        return math.inf
    return sys.getrefcount(_code_of(factory, name)) - sys.getrefcount(_code_of(_uncalled, "closure"))


def _uncalled() -> Any:
    """What a factory is compared with: a function that has never made its closure."""

    def closure() -> None: ...

    return closure


def _functions(module: Any, code: CodeType, number: float) -> list[FunctionType]:
    found = _with_code(vars(module).values(), code)
    # To look through all objects takes longer than the rest of `instrument()`.
    return _with_code(gc.get_referrers(code), code) if number > len(found) else found


def _with_code(objects: Iterable[Any], code: CodeType) -> list[FunctionType]:
    return list({id(each): each for each in objects if type(each) is FunctionType and each.__code__ is code}.values())
