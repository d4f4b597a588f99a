"""How the hot code writes what a sampler of upstream's will decide. No enum: the compiled core compares C integers."""

from __future__ import annotations

from typing import Final

ASK: Final = 0
DROP: Final = 1
RECORD_ONLY: Final = 2
SAMPLE: Final = 3
# From here on it is a `TraceIdRatioBased`, and the number says which of the plan's bounds is its.
RATIO: Final = 4
