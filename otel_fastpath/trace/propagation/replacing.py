"""The Python functions in the place of a propagator's methods."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config


def replace_extract(find: Callable[[], Callable[[Any], Any]]) -> Callable[[Any, Config], Any]:
    """What makes the method in the place of a propagator's `extract`, for `Patch.make`.

    Args:
        find: Returns the function of the core in use that makes it from stock's.
    """

    def make(original: Any, _settings: Config) -> Any:
        from opentelemetry.propagators.textmap import default_getter  # noqa: PLC0415  # only where it is being patched

        fast = find()(original)

        def extract(self: Any, carrier: Any, context: Any = None, getter: Any = default_getter) -> Any:
            return fast(self, carrier, context, getter)

        return functools.wraps(original)(_in_python(fast, extract))

    return make


def replace_inject(find: Callable[[], Callable[[Any], Any]]) -> Callable[[Any, Config], Any]:
    """The same for `inject`."""

    def make(original: Any, _settings: Config) -> Any:
        from opentelemetry.propagators.textmap import default_setter  # noqa: PLC0415  # likewise

        fast = find()(original)

        def inject(self: Any, carrier: Any, context: Any = None, setter: Any = default_setter) -> None:
            fast(self, carrier, context, setter)

        return functools.wraps(original)(_in_python(fast, inject))

    return make


def _in_python(fast: Any, calling_it: Any) -> Any:
    """A Python function: its code can be replaced when the patch is undone, unlike that of a compiled function."""
    return fast if isinstance(fast, FunctionType) else calling_it
