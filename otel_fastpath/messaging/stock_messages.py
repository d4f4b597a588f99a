"""The hooks of instrumentations of messages, around methods of libraries: what they call, and where they are."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import SDK
from otel_fastpath.wrapping.stock_hooks import CalledAndFound, Hooks, variables

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.patching.sources.known import Known
    from otel_fastpath.settings import Config

__all__ = ["Hooks", "StockMessages", "again", "hooks_patch", "variables"]

# What they all call of the API and the SDK, and the replacements do not.
_OF_OTHERS: Final = (
    *(f"opentelemetry.propagate:{name}" for name in ("extract", "inject")),
    *(f"opentelemetry.context:{name}" for name in ("attach", "detach")),
    *(
        f"opentelemetry.trace:{name}"
        for name in ("set_span_in_context", "use_span", "ProxyTracer.start_as_current_span")
    ),
    *(f"opentelemetry.sdk.trace:{name}" for name in ("Tracer.start_as_current_span", "Span.set_attribute")),
    "opentelemetry.sdk.trace:Span.set_attributes",
)


class StockMessages(CalledAndFound):
    """Functions of stock's, with those of the API and the SDK, and what they find in its modules.

    Args:
        called: The functions.
        found: What they find, each as "module:name".
    """

    def __init__(self, called: tuple[str, ...], found: tuple[str, ...]) -> None:
        super().__init__((*called, *_OF_OTHERS), found)


def again(records: Any) -> Callable[..., Any]:
    """What returns these messages once more: what is left to stock is all that it does once it has them."""

    async def wrapped(*_args: Any, **_kwargs: Any) -> Any:
        return records

    return wrapped


def hooks_patch(
    name: str,
    instrumentor: str,
    why: str,
    known: Known,
    called: StockMessages,
    sources: tuple[str, ...],
    hooks: Hooks,
    are_known: Callable[[], Callable[[], bool]],
    budgets: tuple[str, ...],
) -> Patch:
    """The patch of an instrumentation whose hooks run this package's from then on.

    Args:
        name: The name of the library, and of the patch.
        instrumentor: The class, as "module:name".
        why: What the hooks of stock cost, and what replaces it.
        known: The fingerprints of sources.
        called: What the hooks call.
        sources: The functions whose fingerprints must be known.
        hooks: The hooks.
        are_known: Returns the function that looks at what the hooks call.
        budgets: The names of scenarios.
    """

    def make(original: Any, _settings: Config) -> Any:
        @functools.wraps(original)
        def _instrument(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            call_guarded(f"accelerating {name}", hooks.divert)
            # Before the first message comes, which would have to wait for it.
            call_guarded(f"accelerating {name}", are_known())

        # It may have instrumented before this.
        hooks.divert()
        return _instrument

    module = instrumentor.partition(":")[0]
    return Patch(
        name=f"{name}.hooks",
        target=f"{instrumentor}._instrument",
        why=why,
        make=make,
        requires=(*SDK, f"opentelemetry-instrumentation-{name.replace('_', '-')}>=0.61b0"),
        sources=known.sources(*sources),
        stock=called,
        diversions=hooks.diversions,
        after=(f"{module}.utils",),
        budgets=budgets,
    )
