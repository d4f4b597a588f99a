"""Numbers for the decisions of stock's samplers. Not an enum: the compiled core compares C integers."""

from __future__ import annotations

from typing import Final

# Ask the tracer's sampler. A negative number stands for one that `ParentBased` asks: the complement of its index in the
# plan.
ASK: Final = 0
DROP: Final = 1
RECORD_ONLY: Final = 2
SAMPLE: Final = 3
# This and every larger number stand for a `TraceIdRatioBased`: `RATIO` plus the index of its bound in the plan.
RATIO: Final = 4
