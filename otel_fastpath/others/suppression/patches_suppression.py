"""Suppressing instrumentation: `opentelemetry.instrumentation.utils`, which most instrumentations call."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.trace import stock_sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.settings import Config

_MODULE: Final = "opentelemetry.instrumentation.utils"
_API: Final = "opentelemetry.context"
_CONTEXTS: Final = "opentelemetry.context.contextvars_context:ContextVarsRuntimeContext"
_READING: Final = (f"{_API}:get_current", f"{_API}:get_value", f"{_CONTEXTS}.get_current")
_BELOW_A_SPAN: Final = {
    name: (f"{name}, below a span",) for name in ("is_http_instrumentation_enabled", "suppress_http_instrumentation")
}
# Written by tests/others/library_fingerprints.py.
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
_EARLIER: Final = "A module that has imported it earlier keeps stock's."
_SUPPRESSING: Final = (
    f"A generator inside a generator copies the context: 34,000 instructions; here one class. {_EARLIER}"
)
_ASKING: Final = (
    f"Asks for the current context two or three times, each through three functions; here it is read once. {_EARLIER}"
)


@functools.lru_cache(maxsize=16)
def _once(bind: Callable[..., Any], original: Any, module: Any, name: str) -> Any:
    """The same replacement whenever it is applied: where it was imported by name, it is in force again then."""
    return bind(original, module, name)


def _make(name: str) -> Callable[[Any, Config], Any]:
    def make(original: Any, _settings: Config) -> Any:
        module, suppressing = sys.modules[_MODULE], hot.others_suppression_suppressing
        replacement = _once(suppressing.bind, original, module, name)
        suppressing.rest_on(module, name)
        return replacement

    return make


def _patch(name: str, why: str, api: tuple[str, ...], *inner: str) -> Patch:
    own = KNOWN.sources(*(f"{_MODULE}:{each}" for each in (name, *inner)))
    return Patch(
        name=f"utils.{name}",
        target=f"{_MODULE}:{name}",
        why=why,
        make=_make(name),
        requires=(*stock_sources.API, "opentelemetry-instrumentation>=0.61b0"),
        sources=own | stock_sources.sources(*api),
        decorators=frozenset({"contextlib"}),
        budgets=(name, *_BELOW_A_SPAN.get(name, ())),
    )


PATCHES: Final = (
    _patch("is_instrumentation_enabled", _ASKING, _READING),
    _patch("is_http_instrumentation_enabled", _ASKING, _READING, "is_instrumentation_enabled"),
    _patch("suppress_instrumentation", _SUPPRESSING, stock_sources.ATTACHING, "_suppress_instrumentation"),
    _patch("suppress_http_instrumentation", _SUPPRESSING, stock_sources.ATTACHING, "_suppress_instrumentation"),
)
