"""The hooks of instrumentations of messages, around methods of libraries: what they call, and where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.outcome import call_guarded
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.stock_sources import PROPAGATING, SDK
from otel_fastpath.trace.stock_sources import sources as sources_of_signals
from otel_fastpath.wrapping.stock_hooks import CalledAndFound, divert_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.patching.sources.known import Known
    from otel_fastpath.settings import Config
    from otel_fastpath.wrapping.closures import Closures
    from otel_fastpath.wrapping.stock_hooks import Hooks

_RECORDING: Final = "opentelemetry.sdk.trace:Span.is_recording"
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
    _RECORDING,
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
        return divert_after(original, name, hooks.divert, are_known)

    return Patch(
        name=f"{name}.hooks",
        target=f"{instrumentor}._instrument",
        why=why,
        make=make,
        requires=(*SDK, f"opentelemetry-instrumentation-{name.replace('_', '-')}>=0.61b0"),
        sources=known.sources(*sources) | sources_of_signals(*PROPAGATING, _RECORDING),
        stock=called,
        diversions=hooks.diversions,
        after=(hooks.module,),
        budgets=budgets,
    )


def closures_patch(
    name: str,
    target: str,
    why: str,
    known: Known,
    called: StockMessages,
    sources: tuple[str, ...],
    closures: Closures | None,
    module: Callable[[], Any],
    budgets: tuple[str, ...],
) -> Patch:
    """The patch of a function of stock's whose closures run this package's code from then on.

    Args:
        name: The name of the patch; the library's stands before the dot.
        target: The function, as "module:name".
        why: As in `hooks_patch`, like the arguments that have the same names.
        known: Likewise.
        called: Likewise.
        sources: Likewise.
        closures: The closures; None: the function itself is replaced.
        module: Returns the hot module, whose `bind_*` makes the replacement: it is named as the patch is after the dot.
        budgets: The names of scenarios.
    """

    def make(original: Any, _settings: Config) -> Any:
        hooks = module()
        bind = getattr(hooks, f"bind_{part}")
        if closures is None:
            is_static = type(original) is staticmethod
            made = staticmethod(bind(original.__func__)) if is_static else bind(original)
        else:
            made = closures.take_over(original, bind)
        # Before the first message comes, which would have to wait for it.
        call_guarded(f"accelerating {name}", hooks.are_known)
        return made

    library, _, part = name.replace("_", "-").partition(".")
    return Patch(
        name=name,
        target=target,
        why=why,
        make=make,
        requires=(*SDK, f"opentelemetry-instrumentation-{library}>=0.61b0"),
        sources=known.sources(*sources),
        stock=called,
        diversions=None if closures is None else closures.diversions,
        budgets=budgets,
    )
