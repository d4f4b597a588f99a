"""The hooks of instrumentations around methods of libraries: what they call, and where they are."""

from __future__ import annotations

import functools
import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.sources.guard import ReplacedError, owner_of
from otel_fastpath.patching.stock import Reached
from otel_fastpath.patching.swapping.diverting import Diversions
from otel_fastpath.wrapping.layers import layers_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.sources.guard import SkipError


class CalledAndFound(Reached):
    """Functions of stock's, and what they find in its modules.

    Args:
        called: The functions.
        found: What they find, each as "module:name".
    """

    def __init__(self, called: tuple[str, ...], found: tuple[str, ...]) -> None:
        super().__init__(called)
        self._found, self._values = found, dict[str, Any]()

    def look(self) -> tuple[list[tuple[Any, str, Any]], SkipError | None]:
        """Every function and value as it is now, and why they may not be replaced."""
        found, error = super().look()
        for place in self._found:
            owner, name = owner_of(importlib.import_module(place.partition(":")[0]), place)
            value = getattr(owner, name)
            if self._values.setdefault(place, value) is not value:
                error = error or ReplacedError(f"{place} is replaced already")
            found.append((owner, name, value))
        return found, error


class Hooks:
    """Functions of stock's that wrapt calls around methods of a library: closures, which hold the tracer.

    Args:
        module: Where stock's factories of them are.
        places: The methods, each as "module:Class.name", and the name of the factory of the hook around it.
        bind: Returns what makes the replacement for the hook of a factory.

    Attributes:
        module: Where stock's factories of them are.
        diversions: The hooks that run this package's.
    """

    def __init__(self, module: str, places: Mapping[str, str], bind: Callable[[str], Callable[[Any], Any]]) -> None:
        self.module, self._places, self._bind = module, places, bind
        self.diversions = Diversions()

    def divert(self) -> None:
        """Let the hooks that are there run this package's."""
        for place, factory in self._places.items():
            for layer in layers_at(place):
                hook = getattr(layer, "_self_wrapper", None)
                if type(hook) is not FunctionType or hook.__module__ != self.module:
                    continue
                if hook.__qualname__.startswith(f"{factory}.<locals>."):
                    self.diversions.divert(hook, self._bind(factory))


def variables(hook: Any) -> dict[str, Any]:
    """The variables of a closure, such as stock's hooks are."""
    cells = zip(hook.__code__.co_freevars, hook.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def divert_after(
    original: Any, name: str, divert: Callable[[], None], are_known: Callable[[], Callable[[], bool]]
) -> Callable[..., None]:
    """Wrap an instrumentation's `_instrument`, after which its hooks run this package's.

    Args:
        original: The method.
        name: The name of the library, for the report of a fault.
        divert: Lets the hooks that are there run this package's; called now, too: it may have instrumented before.
        are_known: Returns what looks at what the hooks call, for which the first call would have to wait.
    """

    @functools.wraps(original)
    def _instrument(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        call_guarded(f"accelerating {name}", divert)
        call_guarded(f"accelerating {name}", are_known())

    divert()
    return _instrument
