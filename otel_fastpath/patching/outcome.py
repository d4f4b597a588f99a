"""Keeps exceptions of our code, and of other people's processors, hooks and propagators, away from the host.

Wrappers call their own code through `guarded` and `never_raises`; the calls of the hot modules (`libraries.call_span`,
`libraries.genai.openai.calls`) guard each of their steps. An `Exception` is reported as a fault and not raised further.
Any other exception (KeyboardInterrupt, SystemExit, a cancellation) asks the host to stop: it is raised in the host, as
with upstream, after the host's context is restored.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar, Token


def guarded(place: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of ours and return its result, or None if it raises an `Exception`.

    Args:
        place: The place to report, see `faults.report`.
        function: The function.
        args: Its arguments.
    """
    try:
        return function(*args)
    except Exception as error:
        faults.report(place, error)
        return None


def guarded_during(call: Any, place: str, function: Callable[..., Any], *args: Any) -> Any:
    """As `guarded`, while a call is current: it ends before an exception that asks the host to stop is raised.

    Args:
        call: The call; `failed` ends it.
        place: The place to report, see `faults.report`.
        function: The function, which may look at values of the host's.
        args: Its arguments.
    """
    # Not with `guarded`: it runs for each statement, and a call within a call has a budget.
    try:
        return function(*args)
    except Exception as error:
        faults.report(place, error)
        return None
    except BaseException as error:
        call.failed(error)
        raise


def never_raises(place: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of ours so that each call is `guarded`."""

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
    """In an `except` clause around code that runs while a call is current: report an `Exception`, raise the rest again.

    Args:
        place: The place to report, see `faults.report`.
        call: The call; its context is restored before an exception is raised in the host.
        error: The exception.
    """
    if isinstance(error, Exception):
        faults.report(place, error)
        return
    call.leave()
    raise error


def reset(variable: ContextVar[Any], token: Token[Any]) -> None:
    """Reset a context variable. Never raises.

    The garbage collector may close a coroutine in another context than the one that it ran in: there is nothing to
    reset in that context.
    """
    try:
        variable.reset(token)
    except ValueError:
        pass
    except Exception as error:
        faults.report("a context variable", error)
