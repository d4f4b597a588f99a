"""Keeps exceptions of our code away from the host.

Wrappers call their own code through `call_guarded` and `never_raises`; the calls of the hot modules
(`wrapping.call_span`, `genai.openai.calls`) guard each of their steps. What `faults.absorb_any` reports is
not raised further. Any other exception (a time limit, a processor's, KeyboardInterrupt, SystemExit, a cancellation) is
raised in the host, as with stock, after the host's context is restored.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import ContextVar, Token


def call_guarded(place: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of ours and return its result, or None if it fails.

    Args:
        place: The place to report, see `faults.report`.
        function: The function.
        args: Its arguments.
    """
    try:
        return function(*args)
    except Exception as error:
        faults.absorb_any(place, error)
        return None


def call_guarded_during(call: Any, place: str, function: Callable[..., Any], *args: Any) -> Any:
    """As `call_guarded`, while a call is current: it ends before an exception is raised in the host.

    Args:
        call: The call; `end_failed` ends it.
        place: The place to report, see `faults.report`.
        function: The function, which may look at values of the host's.
        args: Its arguments.
    """
    # Not with `call_guarded`: it runs for each statement, and a call within a call has a budget.
    try:
        return function(*args)
    except BaseException as error:
        try:
            faults.absorb_any(place, error)
        except BaseException:
            call.end_failed(error)
            raise
        return None


def never_raises(place: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function of ours so that each call is guarded, where stock has no telemetry: in a pool, at a connect.

    There, an error of a processor is absorbed, too, because the host's call has been made.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def guard(*args: Any) -> Any:
            try:
                return function(*args)
            except Exception as error:
                faults.raise_interruption(error)
                faults.report(place, error)
                return None

        return guard

    return decorate


def absorb_during(place: str, call: Any, error: BaseException) -> None:
    """In an `except` clause around code that runs while a call is current: as `faults.absorb_any`.

    Args:
        place: The place to report, see `faults.report`.
        call: The call; its context is restored before an exception is raised in the host.
        error: The exception.
    """
    try:
        faults.absorb_any(place, error)
    except BaseException:
        call.leave()
        raise
    finally:
        # As in `faults.absorb`.
        del error


def reset(variable: ContextVar[Any], token: Token[Any]) -> None:
    """Reset a context variable. Never raises.

    The garbage collector may close a coroutine in another context than the one that it ran in: there is nothing to
    reset in that context. An exception may have arrived after this was done.
    """
    try:
        variable.reset(token)
    except (ValueError, RuntimeError) as error:
        faults.raise_interruption(error)
    except Exception as error:
        faults.absorb_any("a context variable", error)
