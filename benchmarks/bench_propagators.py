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
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.b3 import B3MultiFormat, B3SingleFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.propagators.jaeger import JaegerPropagator
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from setups import ways

__all__ = ["compiled", "nothing", "pure", "stock"]

TRACE, SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
ENTRIES = {"user.id": "4711", "tenant": "acme corp"}
PARENT = {"traceparent": f"00-{TRACE:032x}-{SPAN:016x}-01"}
BAGGAGE = {"baggage": "user.id=4711,tenant=acme+corp"}
BOTH = {**PARENT, **BAGGAGE}
MULTI = {"x-b3-traceid": f"{TRACE:032x}", "x-b3-spanid": f"{SPAN:016x}", "x-b3-sampled": "1"}
SINGLE = {"b3": f"{TRACE:032x}-{SPAN:016x}-1"}
JAEGER = {"uber-trace-id": f"{TRACE:032x}:{SPAN:016x}:0:01"}
XRAY = {"X-Amzn-Trace-Id": f"Root=1-{TRACE:032x}"[:15] + "-" + f"{TRACE:032x}"[8:] + f";Parent={SPAN:016x};Sampled=1"}
ALL = {**BOTH, **MULTI, **XRAY}


class Propagators:
    """The objects that the callables of this file use.

    Attributes:
        span: A context with a span.
        entries: The same with two entries of baggage.
        baggage: W3C's propagator of baggage.
        multi, single, jaeger, xray: Those of B3, Jaeger and AWS X-Ray.
        four: Four propagators in one.
    """

    def __init__(self) -> None:
        own = SpanContext(TRACE, SPAN, is_remote=False, trace_flags=TraceFlags(1))
        self.span = trace.set_span_in_context(NonRecordingSpan(own), Context())
        self.entries = self.span
        for key, value in ENTRIES.items():
            self.entries = baggage.set_baggage(key, value, self.entries)
        self.baggage = W3CBaggagePropagator()
        self.multi = B3MultiFormat()
        self.single = B3SingleFormat()
        self.jaeger = JaegerPropagator()
        self.xray = AwsXRayPropagator()
        parts = [TraceContextTextMapPropagator(), W3CBaggagePropagator(), B3MultiFormat(), AwsXRayPropagator()]
        self.four = CompositePropagator(parts)


stock, pure, compiled = ways(Propagators)


def nothing(given: Propagators) -> None:
    """The bare call of these scenarios: they consist of telemetry only."""


def inject(given: Propagators) -> None:
    """Write the headers of an outgoing request."""
    propagate.inject({}, given.span)


def extract(given: Propagators) -> None:  # noqa: ARG001  # as all callables of a scenario
    """Read those of an incoming request."""
    propagate.extract(PARENT)


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


def inject_multi(given: Propagators) -> None:
    """Write the headers of B3 multi."""
    given.multi.inject({}, given.span)


def extract_multi(given: Propagators) -> None:
    """Read them."""
    given.multi.extract(MULTI)


def inject_single(given: Propagators) -> None:
    """Write the headers of B3 single."""
    given.single.inject({}, given.span)


def extract_single(given: Propagators) -> None:
    """Read them."""
    given.single.extract(SINGLE)


def inject_jaeger(given: Propagators) -> None:
    """Write the headers of Jaeger."""
    given.jaeger.inject({}, given.span)


def extract_jaeger(given: Propagators) -> None:
    """Read them."""
    given.jaeger.extract(JAEGER)


def inject_xray(given: Propagators) -> None:
    """Write the headers of X-Ray."""
    given.xray.inject({}, given.span)


def extract_xray(given: Propagators) -> None:
    """Read them."""
    given.xray.extract(XRAY)


def inject_four(given: Propagators) -> None:
    """Write the headers of four propagators."""
    given.four.inject({}, given.entries)


def extract_four(given: Propagators) -> None:
    """Read them."""
    given.four.extract(ALL)


# Row of the table -> bare and instrumented.
ROWS: dict[str, Any] = {
    "propagators, inject": (nothing, inject),
    "propagators, extract": (nothing, extract),
    "propagators, inject with 2 baggage entries": (nothing, inject_entries),
    "propagators, extract with 2 baggage entries": (nothing, extract_entries),
    "W3C baggage, inject": (nothing, inject_baggage),
    "W3C baggage, extract": (nothing, extract_baggage),
    "B3 multi, inject": (nothing, inject_multi),
    "B3 multi, extract": (nothing, extract_multi),
    "B3 single, inject": (nothing, inject_single),
    "B3 single, extract": (nothing, extract_single),
    "Jaeger, inject": (nothing, inject_jaeger),
    "Jaeger, extract": (nothing, extract_jaeger),
    "X-Ray, inject": (nothing, inject_xray),
    "X-Ray, extract": (nothing, extract_xray),
    "four propagators, inject": (nothing, inject_four),
    "four propagators, extract": (nothing, extract_four),
}

if __name__ == "__main__":
    from table import main

    sys.exit(main("Propagators", "bench_propagators", ROWS, ("stock", "pure", "compiled")))
