"""One operation of a bench, and its measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from otel_fastpath.tools.bench.leg import BARE, FASTPATH, STOCK


@dataclass
class MeasuredOperation:
    """An operation that is measured in all legs.

    Attributes:
        name: The name shown in tables.
        command: The command that makes a leg prepare it.
        rounds: Nanoseconds per call, one figure for each cycle, by round and leg.
        skipped: The reason why it is not measured.
    """

    name: str
    command: tuple[Any, ...]
    rounds: list[dict[str, list[float]]] = field(default_factory=list)
    skipped: str = ""

    def cost(self, leg: str) -> list[float]:
        """The microseconds that the leg's telemetry adds: the median of the paired differences of each round."""
        return [
            median(it - bare for it, bare in zip(each[leg], each[BARE], strict=True)) / 1000 for each in self.rounds
        ]

    def bare(self) -> float:
        """The time of the operation without telemetry, in microseconds."""
        return median(median(each[BARE]) for each in self.rounds) / 1000

    def shares(self) -> list[float]:
        """Fastpath's cost as a share of stock's cost, one figure for each round."""
        return [fast / stock for fast, stock in zip(self.cost(FASTPATH), self.cost(STOCK), strict=True)]
