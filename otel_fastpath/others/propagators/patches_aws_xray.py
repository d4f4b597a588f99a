"""The header of AWS X-Ray: `opentelemetry.propagators.aws`."""

from __future__ import annotations

from typing import Final

from otel_fastpath.compiled import hot
from otel_fastpath.others.propagators import stock_aws_xray as stock
from otel_fastpath.others.propagators.propagator_sources import KNOWN
from otel_fastpath.patching.patch import Patch
from otel_fastpath.trace.propagation.replacing import replace_extract, replace_inject
from otel_fastpath.trace.propagation.stock_propagators import GETTING, OWN_CONTEXT, READING_SPAN, SETTING, SETTING_SPAN
from otel_fastpath.trace.stock_sources import API, sources

_REQUIRES: Final = (*API, "opentelemetry-propagator-aws-xray>=1.0.1")
PATCHES: Final = (
    Patch(
        name="xray.extract",
        target=f"{stock.PROPAGATOR}.extract",
        why="Reading the header takes 45,000 instructions, in nine functions; here one.",
        make=replace_extract(lambda: hot.others_propagators_aws_xray.make_extract),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{stock.PROPAGATOR}.extract", *stock.READING) | sources(GETTING, SETTING_SPAN),
        stock=stock.EXTRACTING,
        budgets=("X-Ray, extract",),
    ),
    Patch(
        name="xray.inject",
        target=f"{stock.PROPAGATOR}.inject",
        why="Writing the header takes 24,000 instructions, in lists that are joined; here two numbers are written.",
        make=replace_inject(lambda: hot.others_propagators_aws_xray.make_inject),
        requires=_REQUIRES,
        sources=KNOWN.sources(f"{stock.PROPAGATOR}.inject") | sources(SETTING, OWN_CONTEXT, READING_SPAN),
        stock=stock.INJECTING,
        budgets=("X-Ray, inject",),
    ),
)
