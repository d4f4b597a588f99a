"""A line of the status: the state of one patch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(str, Enum):
    """The state of a patch."""

    APPLIED = "applied"
    WAITING = "waiting"
    SKIPPED = "skipped"
    OFF = "off"


@dataclass(frozen=True)
class Row:
    """One line of the status: the state of one patch or wrapper.

    Attributes:
        name, target, why: See `Patch`.
        state: Its state.
        reason: Why it is in this state; empty if there is nothing to say.
        unknown: The function that does something else than in the known releases, so that stock's code runs.
    """

    name: str
    target: str
    state: State
    reason: str
    why: str
    unknown: str = ""
