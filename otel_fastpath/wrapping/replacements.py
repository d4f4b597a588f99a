"""Whether stock's functions are its own: otherwise its own code runs. Compiled as `replacements_c`."""

from __future__ import annotations

from typing import Any

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.patching import faults
from otel_fastpath.patching.stock import UNKNOWN


class Replacements:
    """Whether other code has replaced one of the functions of stock that a set-up stands for; None: for none."""

    __slots__ = ("_facts", "_stock")

    def __init__(self, stock: Any) -> None:
        self._facts = Facts(() if stock is None else UNKNOWN)
        self._stock = stock

    def exist(self) -> bool:
        """Whether there is a replacement now; not after a fault of ours."""
        try:
            return not (self._facts.hold() or self._stock.holds_again(self._facts))
        except Exception as fault:
            faults.absorb_any("a look at stock's functions", fault)
            return False
