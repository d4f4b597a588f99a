"""How much is kept of what was made for one kind of call: strangers choose some of the kinds. See `cache.keep`."""

from __future__ import annotations

from typing import Final

# The texts of a kind that is kept are no longer than this in total.
LONGEST: Final = 1024
# So many kinds of answers are kept of each kind of call.
MOST_ANSWERS: Final = 64
