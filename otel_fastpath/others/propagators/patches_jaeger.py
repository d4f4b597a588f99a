"""The header of Jaeger: `opentelemetry.propagators.jaeger`."""

from __future__ import annotations

from typing import Final

from otel_fastpath.compiled import hot
from otel_fastpath.others.propagators import stock_jaeger as stock
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

_PROPAGATOR: Final = f"{stock.MODULE}:JaegerPropagator"
_REQUIRES: Final = (*API, "opentelemetry-propagator-jaeger>=1.45")
PATCHES: Final = (
    Patch(
        name="jaeger.extract",
        target=f"{_PROPAGATOR}.extract",
        why="Reading the header takes 40,000 instructions: generators look for baggage that is not there.",
        make=replace_extract(lambda: hot.others_propagators_jaeger.make_extract),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{_PROPAGATOR}.extract", *stock.READING, stock.KEYS) | sources(GETTING, SETTING_SPAN),
        stock=stock.EXTRACTING,
        budgets=("Jaeger, extract",),
    ),
    Patch(
        name="jaeger.inject",
        target=f"{_PROPAGATOR}.inject",
        why="Writing the header takes 28,000 instructions, in formats of numbers; here each is written in C.",
        make=replace_inject(lambda: hot.others_propagators_jaeger.make_inject),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{_PROPAGATOR}.inject", stock.WRITING, stock.RECORDING)
        | sources(SETTING, OWN_CONTEXT, READING_SPAN, stock.ALL_BAGGAGE, *WRITING_IDS),
        stock=stock.INJECTING,
        budgets=("Jaeger, inject",),
    ),
)
