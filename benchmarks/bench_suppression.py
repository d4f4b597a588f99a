"""Suppressing instrumentation, and asking for it: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_suppression.py          the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only '*instrumentation*'

The set-ups are `stock`, `pure` and `compiled`, as in bench_span.py.
"""

from __future__ import annotations

import sys

from bench_span import Given, compiled, nothing, pure, stock, use_span
from opentelemetry import trace
from opentelemetry.instrumentation import utils

__all__ = ["compiled", "nothing", "pure", "stock", "use_span"]


def suppress(given: Given) -> None:  # noqa: ARG001  # as all callables of a scenario
    """Suppress all instrumentation for a block."""
    with utils.suppress_instrumentation():
        pass


def suppress_http(given: Given) -> None:  # noqa: ARG001
    """Suppress that of HTTP for a block."""
    with utils.suppress_http_instrumentation():
        pass


def suppress_http_below_span(given: Given) -> None:
    """The same below a span, as instrumentations of HTTP clients do it."""
    with trace.use_span(given.span, end_on_exit=False), utils.suppress_http_instrumentation():
        pass


def ask(given: Given) -> None:  # noqa: ARG001
    """Ask whether instrumentation is suppressed."""
    utils.is_instrumentation_enabled()


def ask_for_http(given: Given) -> None:  # noqa: ARG001
    """The same about that of HTTP."""
    utils.is_http_instrumentation_enabled()


def ask_below_span(given: Given) -> None:
    """Ask below a span, where the context is not empty."""
    with trace.use_span(given.span, end_on_exit=False):
        utils.is_http_instrumentation_enabled()


# Row of the table -> bare and instrumented.
ROWS = {
    "suppress_instrumentation": (nothing, suppress),
    "suppress_http_instrumentation": (nothing, suppress_http),
    "suppress_http_instrumentation, below a span": (use_span, suppress_http_below_span),
    "is_instrumentation_enabled": (nothing, ask),
    "is_http_instrumentation_enabled": (nothing, ask_for_http),
    "is_http_instrumentation_enabled, below a span": (use_span, ask_below_span),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Suppressed instrumentation", "bench_suppression", ROWS, ("stock", "pure", "compiled")))
