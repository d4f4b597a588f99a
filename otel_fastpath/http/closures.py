"""Functions that stock's set-up makes for each application, and keeps: closures.

A closure calls our function once it is handed over, whether the stock instrumentation or this package was set up
first; when the patch is removed, it runs its own code again. It stays the same object: frameworks have lists of them.
"""

from __future__ import annotations

import functools
import gc
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults
from otel_fastpath.patching.patch import SkipError
from otel_fastpath.patching.swapping.diverting import Diversions

if TYPE_CHECKING:
    from collections.abc import Callable


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
        constants = factory.__code__.co_consts
        code = next((each for each in constants if type(each) is CodeType and each.co_name == self._name), None)
        if code is None:
            raise SkipError(f"it makes no function {self._name}")
        for function in _functions(sys.modules[factory.__module__], code):
            self._hand_over(function, make)

        @functools.wraps(factory)
        def made(*args: Any, **kwargs: Any) -> Any:
            function = factory(*args, **kwargs)
            if type(function) is FunctionType and function.__code__ is code:
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


def _functions(module: Any, code: CodeType) -> list[FunctionType]:
    # While the module is imported, nothing but itself has called the function.
    is_new = getattr(module.__spec__, "_initializing", False)
    found = list(vars(module).values()) if is_new else gc.get_referrers(code)
    return [each for each in found if type(each) is FunctionType and each.__code__ is code]
