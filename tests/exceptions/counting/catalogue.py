"""All scenarios."""

from __future__ import annotations

from counting import asynchronous, basics, groups, iteration, surroundings
from counting.scenario import SCENARIOS

# Importing a module declares its scenarios.
MODULES = (asynchronous, basics, groups, iteration, surroundings)

__all__ = ["MODULES", "SCENARIOS"]
