"""The headers of B3: `opentelemetry.propagators.b3`."""

from __future__ import annotations

from typing import Final

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

_MULTI: Final = f"{stock.MODULE}:B3MultiFormat"
_SINGLE: Final = f"{stock.MODULE}:B3SingleFormat"
_REQUIRES: Final = (*API, "opentelemetry-propagator-b3>=1.40")
_WRITING: Final = sources(SETTING, OWN_CONTEXT, READING_SPAN, *WRITING_IDS)
PATCHES: Final = (
    Patch(
        name="b3.extract",
        target=f"{_MULTI}.extract",
        why="Reading B3's headers takes 49,000 instructions: each through two functions and an iterator.",
        make=replace_extract(lambda: hot.others_propagators_b3.make_extract),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{_MULTI}.extract", stock.FIRST) | sources(GETTING, SETTING_SPAN),
        stock=stock.EXTRACTING,
        budgets=("B3 multi, extract",),
    ),
    Patch(
        name="b3.inject_multi",
        target=f"{_MULTI}.inject",
        why="Writing B3's headers takes 17,000 instructions, in formats of numbers; here each is written in C.",
        make=replace_inject(lambda: hot.others_propagators_b3.make_inject_multi),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{_MULTI}.inject") | _WRITING,
        stock=stock.INJECTING,
        budgets=("B3 multi, inject",),
    ),
    Patch(
        name="b3.inject_single",
        target=f"{_SINGLE}.inject",
        why="Writing B3's headers takes 17,000 instructions, in formats of numbers; here each is written in C.",
        make=replace_inject(lambda: hot.others_propagators_b3.make_inject_single),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{_SINGLE}.inject") | _WRITING,
        stock=stock.INJECTING,
        budgets=("B3 single, inject",),
    ),
)
