"""The host's outcome: whatever our code or a foreign processor, hook or propagator raises, the host does not see it.

Wrappers enter their own code by `guarded` and `never_raises`; the calls of the hot modules (`libraries.call_span`,
`libraries.genai.openai.calls`) guard each of their steps. An `Exception` is reported as a fault and goes no further.
What is no `Exception` (KeyboardInterrupt, SystemExit, a cancellation) asks the host to stop: it goes on to it, as it
does with upstream, in the context that the host had.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar, Token


def guarded(place: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of ours; gives what it gives, and None where it raises an `Exception`.

    Args:
        place: What failed then, as `faults.report` takes it.
        function: The function.
        args: Its arguments.
    """
    try:
        return function(*args)
    except Exception as error:
        faults.report(place, error)
        return None


def never_raises(place: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of ours: each of its calls is `guarded`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def guard(*args: Any) -> Any:
            try:
                return function(*args)
            except Exception as error:
                faults.report(place, error)
                return None

        return guard

    return decorate


def absorbed(place: str, call: Any, error: BaseException) -> None:
    """In an `except` clause around what is done while a call is current: report an `Exception`, and no more.

    Args:
        place: What failed, as `faults.report` takes it.
        call: Restores its context before anything else goes on to the host.
        error: What was raised.
    """
    if isinstance(error, Exception):
        faults.report(place, error)
        return
    call.leave()
    raise error


def reset(variable: ContextVar[Any], token: Token[Any]) -> None:
    """Put back the value of a context variable. Never raises.

    A coroutine may be closed in another context than the one that it ran in, by whoever collects it: there is nothing
    to put back there.
    """
    try:
        variable.reset(token)
    except ValueError:
        pass
    except Exception as error:
        faults.report("a context variable", error)
