"""The switches of replacements: each makes one pass every call to the original.

Plain Python; compiled as `switches_c`.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING

from otel_fastpath.patching.swapping.swap import SWITCH

if TYPE_CHECKING:
    from collections.abc import Callable


class Switch:
    """Makes a function inert if its code cannot be exchanged (see `otel_fastpath.patching.swapping.swap`).

    Attributes:
        inert: Whether the function passes every call to the original.
    """

    __slots__ = ("inert",)

    def __init__(self) -> None:
        self.inert = False


def make_switchable(
    original: Callable[..., object], function: Callable[..., object], switch: Switch
) -> Callable[..., object]:
    """Give a function its switch and the metadata of the original that it replaces; return it."""
    function = wraps(original)(function)
    function.__dict__[SWITCH] = switch
    return function
