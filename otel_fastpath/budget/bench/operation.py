"""One operation of a bench, and what was measured of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import Any

from otel_fastpath.budget.bench.leg import BARE, FASTPATH, STOCK


@dataclass
class Operation:
    """What is measured in all legs.

    Attributes:
        name: For tables.
        command: What a leg is told to prepare it.
        rounds: Per round, per leg: nanoseconds per call, one for each cycle.
        skipped: Why it is not measured.
    """

    name: str
    command: tuple[Any, ...]
    rounds: list[dict[str, list[float]]] = field(default_factory=list)
    skipped: str = ""

    def cost(self, leg: str) -> list[float]:
        """What the leg's telemetry adds in microseconds: the median of paired differences, one for each round."""
        return [
            median(it - bare for it, bare in zip(each[leg], each[BARE], strict=True)) / 1000 for each in self.rounds
        ]

    def bare(self) -> float:
        """The operation alone, in microseconds."""
        return median(median(each[BARE]) for each in self.rounds) / 1000

    def shares(self) -> list[float]:
        """Fastpath's cost as a share of stock's, one for each round."""
        return [fast / stock for fast, stock in zip(self.cost(FASTPATH), self.cost(STOCK), strict=True)]
