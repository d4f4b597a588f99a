"""W3C's headers: `opentelemetry.trace.propagation.tracecontext` and `opentelemetry.baggage.propagation`."""

from __future__ import annotations

from typing import Final

from otel_fastpath.compiled import hot
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.propagation import stock_propagators as stock
from otel_fastpath.trace.propagation.replacing import replace_extract, replace_inject
from otel_fastpath.trace.stock_sources import API, sources

PATCHES: Final = (
    Patch(
        name="propagation.extract",
        target=f"{stock.TRACE_CONTEXT}.extract",
        why="Reading a traceparent header takes 45,000 instructions; here one conversion and three objects.",
        make=replace_extract(lambda: hot.trace_propagation_trace_context.make_extract),
        requires=API,
        sources=sources(f"{stock.TRACE_CONTEXT}.extract", stock.GETTING, stock.SPAN_CONTEXT, stock.SETTING_SPAN),
        stock=stock.EXTRACTING,
        budgets=("TraceContext extract",),
    ),
    Patch(
        name="propagation.inject",
        target=f"{stock.TRACE_CONTEXT}.inject",
        why="Writing a traceparent header takes 19,000 instructions; here two conversions.",
        make=replace_inject(lambda: hot.trace_propagation_trace_context.make_inject),
        requires=API,
        sources=sources(f"{stock.TRACE_CONTEXT}.inject", stock.SETTING, stock.SPAN_CONTEXT, stock.STATE)
        | sources(stock.READING_SPAN, stock.OWN_CONTEXT, *stock.WRITING_IDS),
        stock=stock.INJECTING,
        budgets=("TraceContext inject",),
    ),
    Patch(
        name="propagation.extract_baggage",
        target=f"{stock.W3C_BAGGAGE}.extract",
        why="Two entries of baggage take 74,000 instructions to read: regular expressions, and copies of the context.",
        make=replace_extract(lambda: hot.trace_propagation_baggage.make_extract),
        requires=API,
        sources=sources(f"{stock.W3C_BAGGAGE}.extract", stock.GETTING, *stock.READING_BAGGAGE) | stock.LIMITING_BAGGAGE,
        stock=stock.EXTRACTING_BAGGAGE,
        budgets=("W3C baggage, extract",),
    ),
    Patch(
        name="propagation.inject_baggage",
        target=f"{stock.W3C_BAGGAGE}.inject",
        why="Two entries of baggage take 44,000 instructions to write, in nested generators; here one pass.",
        make=replace_inject(lambda: hot.trace_propagation_baggage.make_inject),
        requires=API,
        sources=sources(f"{stock.W3C_BAGGAGE}.inject", stock.SETTING, *stock.WRITING_BAGGAGE)
        | stock.LIMITING_BAGGAGE
        | stock.ENCODING_BAGGAGE,
        stock=stock.INJECTING_BAGGAGE,
        budgets=("W3C baggage, inject",),
    ),
    Patch(
        name="propagation.extract_each",
        target=f"{stock.COMPOSITE}.extract",
        why="The default propagators are two: where there is no baggage, the second need not look for it.",
        make=replace_extract(lambda: hot.trace_propagation_composite.make_extract),
        requires=API,
        sources=sources(f"{stock.COMPOSITE}.extract", stock.GETTING, stock.SETTING_SPAN),
        stock=stock.EXTRACTING_BOTH,
        budgets=("propagators, extract",),
    ),
    Patch(
        name="propagation.inject_each",
        target=f"{stock.COMPOSITE}.inject",
        why="The default propagators are two: where there is no baggage, the second need not look for it.",
        make=replace_inject(lambda: hot.trace_propagation_composite.make_inject),
        requires=API,
        sources=sources(f"{stock.COMPOSITE}.inject", stock.READING_SPAN, stock.OWN_CONTEXT, *stock.WRITING_IDS),
        stock=stock.INJECTING_BOTH,
        budgets=("propagators, inject",),
    ),
)
