"""The headers of B3: `opentelemetry.propagators.b3`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled import hot
from otel_fastpath.others.propagators import stock_b3 as stock
from otel_fastpath.others.propagators.propagator_sources import KNOWN
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.propagation.replacing import replace_extract, replace_inject
from otel_fastpath.trace.propagation.stock_propagators import (
    GETTING,
    OWN_CONTEXT,
    READING_SPAN,
    SETTING,
    SETTING_SPAN,
    WRITING_IDS,
)
from otel_fastpath.trace.stock_sources import API, sources

if TYPE_CHECKING:
    from otel_fastpath.settings import Config


def _extract(original: Any, _settings: Config) -> Any:
    return replace_extract(original, hot.others_propagators_b3.make_extract)


def _inject_multi(original: Any, _settings: Config) -> Any:
    return replace_inject(original, hot.others_propagators_b3.make_inject_multi)


def _inject_single(original: Any, _settings: Config) -> Any:
    return replace_inject(original, hot.others_propagators_b3.make_inject_single)


_MULTI: Final = f"{stock.MODULE}:B3MultiFormat"
_SINGLE: Final = f"{stock.MODULE}:B3SingleFormat"
PATCHES: Final = (
    Patch(
        name="b3.extract",
        target=f"{_MULTI}.extract",
        why="Reading B3's headers takes 49,000 instructions: each through two functions and an iterator.",
        make=_extract,
        requires=(*API, "opentelemetry-propagator-b3>=1.40"),
        sources=KNOWN.sources(f"{_MULTI}.extract", stock.FIRST) | sources(GETTING, SETTING_SPAN),
        stock=stock.EXTRACTING,
        budgets=("B3 multi, extract",),
    ),
    Patch(
        name="b3.inject_multi",
        target=f"{_MULTI}.inject",
        why="Writing B3's headers takes 17,000 instructions, in formats of numbers; here each is written in C.",
        make=_inject_multi,
        requires=(*API, "opentelemetry-propagator-b3>=1.40"),
        sources=KNOWN.sources(f"{_MULTI}.inject") | sources(SETTING, OWN_CONTEXT, READING_SPAN, *WRITING_IDS),
        stock=stock.INJECTING,
        budgets=("B3 multi, inject",),
    ),
    Patch(
        name="b3.inject_single",
        target=f"{_SINGLE}.inject",
        why="Writing B3's headers takes 17,000 instructions, in formats of numbers; here each is written in C.",
        make=_inject_single,
        requires=(*API, "opentelemetry-propagator-b3>=1.40"),
        sources=KNOWN.sources(f"{_SINGLE}.inject") | sources(SETTING, OWN_CONTEXT, READING_SPAN, *WRITING_IDS),
        stock=stock.INJECTING,
        budgets=("B3 single, inject",),
    ),
)
