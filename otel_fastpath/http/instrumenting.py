"""The set-up functions of stock that put a closure in the place of a library's function."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.sources.guard import SkipError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.patching.diverting import Diversions


def diverting(
    original: Any, diversions: Diversions, find: Callable[[], Any], make: Callable[[Any], Any]
) -> Callable[..., None]:
    """Make the replacement for such a set-up function: what it has put in place runs our function.

    Args:
        original: Stock's set-up function.
        diversions: Keeps what is diverted, to undo it.
        find: Returns what is in the place of the library's function.
        make: Called with a copy of the closure, which runs its own code; returns our function.
    """

    def divert() -> None:
        function = find()
        code = getattr(function, "__code__", function)
        # With arguments that ours does not know, stock's closure stays as it is.
        with suppress(SkipError):
            if any(each is code for each in original.__code__.co_consts):
                diversions.divert(function, make)

    @functools.wraps(original)
    def _instrument(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        call_guarded(f"accelerating {original.__module__}", divert)

    # It may have instrumented before this.
    divert()
    return _instrument
