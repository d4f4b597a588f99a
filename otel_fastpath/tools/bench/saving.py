"""What telemetry costs a service in each way, and what otel-fastpath takes away of it: one estimate for all outputs."""

from __future__ import annotations

import random
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# From fewer, an interval says nothing.
LEAST_ROUNDS: Final = 5
_CONFIDENCE: Final = 0.9
_SAMPLES: Final = 2000


@dataclass(frozen=True)
class EstimatedSaving:
    """The estimate.

    Attributes:
        bare: CPU time of a request without telemetry, in microseconds: the median of the rounds.
        stock: The same with stock OpenTelemetry.
        fastpath: The same with otel-fastpath.
        interval: Between what the saving lies with a confidence of 90 %, at most all of the cost; None if there are too
            few rounds.
        is_clear: Whether stock's telemetry costs more than the rounds vary, so that a share of it means something.
    """

    bare: float
    stock: float
    fastpath: float
    interval: tuple[float, float] | None
    is_clear: bool

    @property
    def is_known(self) -> bool:
        """Whether a saving can be said: both costs can be distinguished from noise."""
        return self.is_clear and self.fastpath > self.bare

    @property
    def value(self) -> float:
        """The share of telemetry's cost that otel-fastpath takes away."""
        return _saved(self.bare, self.stock, self.fastpath)


def estimate(bare: Sequence[float], stock: Sequence[float], fastpath: Sequence[float]) -> EstimatedSaving:
    """Estimate it from the CPU time of a request in each round.

    The interval is what 90 % of random choices of as many rounds give.
    """
    rounds = list(zip(bare, stock, fastpath, strict=True))
    draw = random.Random(0)  # noqa: S311  # the same rounds give the same interval
    whole = _medians(rounds)
    samples = [_medians(draw.choices(rounds, k=len(rounds))) for _ in range(_SAMPLES)]
    outside = round((1 - _CONFIDENCE) / 2 * _SAMPLES)
    costs = sorted(sample[1] - sample[0] for sample in samples)
    is_clear = costs[outside] > 0 and whole[1] > whole[0]
    if len(rounds) < LEAST_ROUNDS or not is_clear:
        return EstimatedSaving(*whole, None, is_clear)
    shares = sorted(_saved(*sample) for sample in samples if sample[1] > sample[0])
    # Noise may say more, and telemetry does not cost less than nothing.
    return EstimatedSaving(*whole, (shares[outside], min(shares[-1 - outside], 1.0)), is_clear)


def _medians(rounds: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    bare, stock, fastpath = map(median, zip(*rounds, strict=True))
    return bare, stock, fastpath


def _saved(bare: float, stock: float, fastpath: float) -> float:
    return 1 - (fastpath - bare) / (stock - bare)
