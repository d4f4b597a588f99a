"""The API of contexts, current spans and baggage: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_context_api.py          the table: stock and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'get_*'

The set-ups are `stock` and `compiled`, as in bench_span.py. In the pure core, stock's functions stay.
"""

from __future__ import annotations

import sys

from bench_span import Given, compiled, nothing, stock, use_span
from opentelemetry import baggage, context, trace

__all__ = ["compiled", "nothing", "stock", "use_span"]


def attach(given: Given) -> None:
    """Make a context the current one, and restore."""
    context.detach(context.attach(given.context))


def get_value(given: Given) -> None:  # noqa: ARG001  # as all callables of a scenario
    """Get a value of the current context."""
    context.get_value("key")


def get_value_in(given: Given) -> None:
    """Get a value of a given context."""
    context.get_value("key", given.context)


def set_value(given: Given) -> None:  # noqa: ARG001
    """Set a value in a copy of the current context."""
    context.set_value("key", 1)


def set_span(given: Given) -> None:
    """Set a span in a copy of the current context."""
    trace.set_span_in_context(given.span)


def set_span_in(given: Given) -> None:
    """Set a span in a copy of a given context."""
    trace.set_span_in_context(given.span, given.context)


def get_span(given: Given) -> None:  # noqa: ARG001
    """Get the current span, where there is none."""
    trace.get_current_span()


def get_span_below_span(given: Given) -> None:
    """Get it below a span."""
    with trace.use_span(given.span, end_on_exit=False):
        trace.get_current_span()


def get_span_in(given: Given) -> None:
    """Get the span of a given context."""
    trace.get_current_span(given.context)


_BAGGAGE = baggage.set_baggage("tenant", "a", baggage.set_baggage("user", "b"))


def set_baggage(given: Given) -> None:  # noqa: ARG001
    """Set the first baggage entry."""
    baggage.set_baggage("tenant", "a")


def set_baggage_in(given: Given) -> None:  # noqa: ARG001
    """Set a third one in a given context."""
    baggage.set_baggage("region", "c", _BAGGAGE)


def get_baggage(given: Given) -> None:  # noqa: ARG001
    """Get a baggage entry of a given context."""
    baggage.get_baggage("tenant", _BAGGAGE)


def get_current_baggage(given: Given) -> None:  # noqa: ARG001
    """Get a baggage entry where there is none."""
    baggage.get_baggage("tenant")


def get_all(given: Given) -> None:  # noqa: ARG001
    """Get all baggage of a given context."""
    baggage.get_all(_BAGGAGE)


# Row of the table -> bare and instrumented.
ROWS = {
    "attach and detach": (nothing, attach),
    "get_value": (nothing, get_value),
    "get_value, a given context": (nothing, get_value_in),
    "set_value": (nothing, set_value),
    "set_span_in_context": (nothing, set_span),
    "set_span_in_context, a given context": (nothing, set_span_in),
    "get_current_span, none": (nothing, get_span),
    "get_current_span, below a span": (use_span, get_span_below_span),
    "get_current_span, a given context": (nothing, get_span_in),
    "set_baggage": (nothing, set_baggage),
    "set_baggage, a given context": (nothing, set_baggage_in),
    "get_baggage, none": (nothing, get_current_baggage),
    "get_baggage, a given context": (nothing, get_baggage),
    "baggage.get_all": (nothing, get_all),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("The context API", "bench_context_api", ROWS, ("stock", "compiled")))
