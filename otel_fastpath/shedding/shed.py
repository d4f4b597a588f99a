"""What is shed at the moment, and how much was: read by the samplers and filters, written by the guard's thread."""

from __future__ import annotations

from typing import Final

from otel_fastpath.locks import Tally
from otel_fastpath.shedding.control import FEWER_TRACES, SheddingState
from otel_fastpath.shedding.thresholds import probability_of, threshold_of

# The kinds of what is counted.
KINDS: Final = ("internal_span", "trace", "log_record")


class Shed:
    """What is shed.

    Attributes:
        threshold: The rejection threshold of new traces; 0: all are kept.
    """

    def __init__(self) -> None:
        self.threshold = 0
        self._counts = Tally()

    def follow(self, state: SheddingState) -> None:
        """Shed what the state says."""
        is_on = state.level >= FEWER_TRACES and state.probability < 1
        self.threshold = threshold_of(state.probability) if is_on else 0

    @property
    def probability(self) -> float:
        """The probability of new traces, exactly as in the threshold."""
        return probability_of(self.threshold)

    def count(self, kind: str) -> None:
        """Count one of `KINDS`."""
        self._counts.add(kind)

    def counts(self) -> dict[str, int]:
        """How many were shed so far, by kind."""
        return {kind: self._counts.get(kind, 0) for kind in KINDS}
