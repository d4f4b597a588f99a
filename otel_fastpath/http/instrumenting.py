"""The patches of clients, functions of stock that put a closure in the place of a library's function; and plans."""

from __future__ import annotations

import functools
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otel_fastpath.compiled import hot
from otel_fastpath.http.stock_functions import client_stock
from otel_fastpath.http.stock_sources import SHARED, imported, requires, sources
from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.guard import SkipError
from otel_fastpath.trace.stock_sources import sources as core_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.patching.swapping.diverting import Diversions


def client_patch(
    name: str,
    target: str,
    why: str,
    make: Callable[..., Any],
    diversions: Diversions,
    budget: str,
    *,
    further: tuple[str, ...] = (),
    helpers: tuple[str, ...] = ("redact_url", "sanitize_method"),
    stock: str = "",
    undo: Callable[[], object] | None = None,
) -> Patch:
    """The patch of a function that runs for each call of a client, or makes those that do.

    Args:
        name: Its name: the library's, and what is patched there.
        target: The function.
        why: What it costs.
        make: Makes the replacement.
        diversions: Those of what stock has put in place already.
        budget: The scenario with its budget.
        further: Further sources.
        helpers: Functions of `opentelemetry.util.http` that the instrumentation imports.
        stock: The function of stock whose calls the replacement stands for, if that is not the target.
        undo: Forgets the plans.
    """
    return Patch(
        name=name,
        target=target,
        why=why,
        make=make,
        requires=requires(name.partition(".")[0].replace("_", "-")),
        sources=sources(target, *SHARED, *further)
        | imported(target.partition(":")[0], *helpers)
        | core_sources("opentelemetry.baggage:get_all"),
        stock=client_stock(stock or target),
        decorators=frozenset({"contextlib"}) if further else frozenset(),
        diversions=diversions,
        undo=undo,
        budgets=(budget,),
    )


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


def forget_plans() -> None:
    """Forget what is kept on the objects that serve requests: a patch of a server is removed."""
    hot.http_servers_server_metrics.forget_plans()
