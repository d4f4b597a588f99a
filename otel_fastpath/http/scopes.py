"""The span of a call or request as the current one, while the host's code runs: a fault of ours never reaches it.

Plain Python; compiled as `scopes_c`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api

from otel_fastpath.patching import faults
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.trace.context.current_context import attach, attach_as_stock, attach_context, detach, restore

if TYPE_CHECKING:
    from opentelemetry.context.context import Context

    from otel_fastpath.trace.context.current_context import _Token

_PLACE = "the span around a call of HTTP"


def make_scope(tracer: Any, name: Any, kind: Any, attributes: Any) -> Any:
    """Make the scope of a span, for `enter_scope` and `exit_scope` in one `try`; None after an error in this package.

    Args:
        tracer: Starts it.
        name: Its name.
        kind: Its kind.
        attributes: Its attributes at its start.
    """
    try:
        return tracer.start_as_current_span(name, None, kind, attributes)
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return None


def enter_scope(scope: Any) -> Any:
    """Start the span, make it the current one, and return it; None after a fault of ours: there is no span."""
    try:
        return scope.__enter__()
    except Exception as error:
        faults.absorb_any(_PLACE, error)
        return None


def exit_scope(scope: Any, error: Any) -> None:
    """Restore the context and end the span.

    Args:
        scope: What `make_scope` returned; None if it was interrupted: there is nothing to do.
        error: What the code inside raised, or None.
    """
    if scope is None:
        return
    try:
        if error is None:
            scope.__exit__(None, None, None)
        else:
            scope.__exit__(type(error), error, error.__traceback__)
    except Exception as fault:
        if fault is error:
            # Stock's own scope is a generator, which raises again what it is told.
            return
        # Once more without the exception, which may have been the reason. A scope that was left does nothing.
        call_guarded(_PLACE, scope.__exit__, None, None, None)
        faults.absorb_any(_PLACE, fault)


def make_current(context: Context) -> _Token:
    """Make a context the current one; returns the token for `detach` of `current_context`."""
    return attach_context(context) or (context_api.attach(context),)


def activate(span: Any) -> _Token:
    """Make a span the current one; returns the token for `detach` of `current_context`."""
    try:
        return attach(span)
    except Exception as fault:
        faults.absorb_any("making a span the current one", fault)
    return attach_as_stock(span)


def detach_token(token: _Token | None) -> None:
    """Undo `make_current` or `activate`; None: there is nothing to undo. Raises only what `faults.absorb` does."""
    if token is None:
        return
    try:
        detach(token)
    except BaseException as fault:
        restore(token)
        faults.absorb("restoring the context", fault)
