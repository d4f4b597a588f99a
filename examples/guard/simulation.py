"""Simulate the guard: the control law of this package, measured prices, and a load that changes. Deterministic.

    python -m examples.guard.simulation                 # a line for each window of each scenario
    python -m examples.guard.prices                     # measure the prices again, and write prices.json

There are no clocks and nothing is random: a second of the service costs what its requests cost at the prices of
`prices.json`, and `otel_fastpath.shedding.control` decides at its end, as it does in a service.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from otel_fastpath.shedding import control

PRICES = Path(__file__).with_name("prices.json")
# The export thread sends what has been queued for so many seconds, or at once if that is a whole batch.
SCHEDULE_S = 5
BATCH = 512


@dataclass(frozen=True)
class Prices:
    """What one request costs, in microseconds of CPU.

    Attributes:
        application: The service without telemetry.
        kept: The hooks of a request that is recorded, without the spans below.
        internal: The internal spans that level 1 sheds, with their export.
        dropped: The hooks of a request whose trace is shed.
        export: The export of the other spans of a request that is recorded.
        spans: How many spans these are.
    """

    application: float
    kept: float
    internal: float
    dropped: float
    export: float
    spans: int


class Second(NamedTuple):
    """One second of a service."""

    load: float
    """Requests."""
    sampled_parents: float = 0.0
    """The share of the requests whose caller has sampled them, which are always recorded."""


class Point(NamedTuple):
    """What happened in one second.

    Attributes:
        second: Counted from 0.
        share: What telemetry took of the CPU in this second.
        state: What the guard decided at its end.
    """

    second: int
    share: float
    state: control.SheddingState


def read_prices() -> dict[str, Prices]:
    """The measured prices, by the name of the service."""
    found: dict[str, Any] = json.loads(PRICES.read_text(encoding="utf-8"))
    return {name: Prices(**prices) for name, prices in found["services"].items()}


def simulate(prices: Prices, limit: float, seconds: Iterable[Second]) -> Iterator[Point]:
    """Run a service under the guard.

    Args:
        prices: What its requests cost.
        limit: The share of the CPU that telemetry may take.
        seconds: The load, second by second.
    """
    state = control.SheddingState()
    queued = 0.0
    for number, (load, sampled_parents) in enumerate(seconds):
        traces = sampled_parents + (1 - sampled_parents) * state.probability
        hooks = traces * prices.kept + (1 - traces) * prices.dropped
        if state.level < control.NO_INTERNAL_SPANS:
            hooks += traces * prices.internal
        queued += load * traces
        exported = 0.0
        if queued * prices.spans >= BATCH or number % SCHEDULE_S == SCHEDULE_S - 1:
            exported, queued = queued, 0.0
        telemetry = (load * hooks + exported * prices.export) / 1e6
        process = telemetry + load * prices.application / 1e6
        state = control.step(state, limit, telemetry, process, 1.0)
        yield Point(number, control.share_of(telemetry, process, 1.0), state)


def steady(load: float, seconds: int, sampled_parents: float = 0.0) -> list[Second]:
    """The same load for a while."""
    return [Second(load, sampled_parents)] * seconds


def floor(prices: Prices) -> float:
    """The share that is left if every trace is shed."""
    return prices.dropped / (prices.dropped + prices.application)


def main() -> None:
    """Print what happens to each service at a step of five times the load, with a limit above its floor."""
    for name, prices in read_prices().items():
        limit = 0.5 * (floor(prices) + whole(prices))
        print(f"{name}: floor {floor(prices):.1%}, nothing shed {whole(prices):.1%}, limit {limit:.1%}")
        points = simulate(prices, limit, [*steady(100, 60), *steady(500, 120), *steady(100, 120)])
        for point in points:
            if point.state.seconds == 0:
                state = point.state
                print(f"  {point.second:4} s  {state.share:6.1%}  level {state.level}  p {state.probability:.3f}")


def whole(prices: Prices) -> float:
    """The share if nothing is shed."""
    cost = prices.kept + prices.internal + prices.export
    return cost / (cost + prices.application)


if __name__ == "__main__":
    main()
