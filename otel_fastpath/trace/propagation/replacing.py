"""The Python functions in the place of a propagator's methods."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def replace_extract(original: Any, make: Callable[[Any], Any]) -> Any:
    """The method in the place of a propagator's `extract`, which `make` makes."""
    from opentelemetry.propagators.textmap import default_getter  # noqa: PLC0415  # only where it is being patched

    fast = make(original)

    def extract(self: Any, carrier: Any, context: Any = None, getter: Any = default_getter) -> Any:
        return fast(self, carrier, context, getter)

    return functools.wraps(original)(_in_python(fast, extract))


def replace_inject(original: Any, make: Callable[[Any], Any]) -> Any:
    """The method in the place of a propagator's `inject`, which `make` makes."""
    from opentelemetry.propagators.textmap import default_setter  # noqa: PLC0415  # only where it is being patched

    fast = make(original)

    def inject(self: Any, carrier: Any, context: Any = None, setter: Any = default_setter) -> None:
        fast(self, carrier, context, setter)

    return functools.wraps(original)(_in_python(fast, inject))


def _in_python(fast: Any, calling_it: Any) -> Any:
    """A Python function: its code can be replaced when the patch is undone, unlike that of a compiled function."""
    return fast if isinstance(fast, FunctionType) else calling_it
