"""Reading and writing the headers of propagators: `bare` and `instrumented` callables of scenarios.

    python benchmarks/bench_propagators.py          the table: stock, pure and compiled core
    otel-fastpath budget check --file benchmarks/budgets.toml --only 'propagators*'

The set-ups are `stock`, `pure` and `compiled`, as in bench_span.py.
"""

from __future__ import annotations

import sys
from typing import Any

from opentelemetry import baggage, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from setups import instrument

__all__ = ["compiled", "nothing", "pure", "stock"]

TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
ENTRIES = {"user.id": "4711", "tenant": "acme corp"}
PARENT = {"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-01"}
BAGGAGE = {"baggage": "user.id=4711,tenant=acme+corp"}


class Propagators:
    """The objects that the callables of this file use.

    Attributes:
        span: A context with a span.
        entries: The same with two entries of baggage.
        baggage: W3C's propagator of baggage.
        four: Four propagators in one.
    """

    def __init__(self) -> None:
        own = SpanContext(TRACE, SPAN, is_remote=False, trace_flags=TraceFlags(1))
        self.span = trace.set_span_in_context(NonRecordingSpan(own), Context())
        self.entries = self.span
        for key, value in ENTRIES.items():
            self.entries = baggage.set_baggage(key, value, self.entries)
        self.baggage = W3CBaggagePropagator()


def stock() -> Propagators:
    """Unpatched OpenTelemetry."""
    return Propagators()


def pure() -> Propagators:
    """otel-fastpath with the pure core."""
    return _fastpath("py")


def compiled() -> Propagators:
    """otel-fastpath with the compiled core."""
    return _fastpath("c")


def _fastpath(asked: str) -> Propagators:
    instrument(asked)
    return Propagators()


def nothing(given: Propagators) -> None:
    """The bare call of these scenarios: they consist of telemetry only."""


def inject(given: Propagators) -> None:
    """Write the headers of an outgoing request."""
    propagate.inject({}, given.span)


def extract(given: Propagators) -> None:  # noqa: ARG001  # as all callables of a scenario
    """Read those of an incoming request."""
    propagate.extract(PARENT)


BOTH = {**PARENT, **BAGGAGE}


def inject_entries(given: Propagators) -> None:
    """Write the headers of a request with baggage."""
    propagate.inject({}, given.entries)


def extract_entries(given: Propagators) -> None:  # noqa: ARG001
    """Read them."""
    propagate.extract(BOTH)


def inject_baggage(given: Propagators) -> None:
    """Write the header with baggage alone."""
    given.baggage.inject({}, given.entries)


def extract_baggage(given: Propagators) -> None:
    """Read it."""
    given.baggage.extract(BAGGAGE)


# Row of the table -> bare and instrumented.
ROWS: dict[str, Any] = {
    "propagators, inject": (nothing, inject),
    "propagators, extract": (nothing, extract),
    "propagators, inject with 2 baggage entries": (nothing, inject_entries),
    "propagators, extract with 2 baggage entries": (nothing, extract_entries),
    "W3C baggage, inject": (nothing, inject_baggage),
    "W3C baggage, extract": (nothing, extract_baggage),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Propagators", "bench_propagators", ROWS, ("stock", "pure", "compiled")))
