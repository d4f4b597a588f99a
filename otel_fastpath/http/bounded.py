"""How much is kept of what was made for one kind of call: strangers choose some of the kinds. See `cache.keep`."""

from __future__ import annotations

from typing import Final

# The texts of a kind that is kept are no longer than this in total.
LONGEST: Final = 1024
# So many sets of attributes have bound instruments, which take more than 2 kB each: a server of any number of hosts
# takes at most a fifth more memory than with stock.
MOST_LABELS: Final = 256
# So many kinds of answers are kept of each kind of call.
MOST_ANSWERS: Final = 64
