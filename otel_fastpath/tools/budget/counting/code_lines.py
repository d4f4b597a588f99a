"""Cache lines of machine code, read from the profiles of valgrind's callgrind.

In a service, a hook's code is not in the first-level cache when its request comes: what runs once a request costs by
the lines that it is spread over, more than by its instructions.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from otel_fastpath.tools.budget.counting import native
from otel_fastpath.tools.budget.counting.bytecodes import CALLS

if TYPE_CHECKING:
    from pathlib import Path

# 64 bytes, on every processor of the last twenty years that Python is used on but Apple's, which has 128.
_BITS: Final = 6
# A line counts if one of its instructions is executed at each second call, or more often.
_HOT: Final = CALLS // 2


def read(folder: Path) -> dict[str, int]:
    """How many lines the instrumented callable executes and the bare one does not, by name given to `dump_profiles`."""
    found = native.read_profiles(folder, _hot_lines)
    return {name: len(instrumented - bare) for name, (bare, instrumented) in found.items()}


def _hot_lines(text: str) -> frozenset[tuple[str, int]]:
    """The lines of code that are executed often, as an object file's name and a number in it."""
    # https://valgrind.org/docs/manual/cl-format.html
    executed: Counter[tuple[str, int]] = Counter()
    owner, is_of_callee = "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            owner = line
        elif line.startswith("calls="):
            # The next line is what the called function cost.
            is_of_callee = True
        elif line.startswith("0x"):
            if not is_of_callee:
                address, _, number = line.split()
                place = owner, int(address, 16) >> _BITS
                executed[place] = max(executed[place], int(number))
            is_of_callee = False
    return frozenset(place for place, number in executed.items() if number >= _HOT)
