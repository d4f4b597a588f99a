"""Combinations of parameters of which `make test` has one for each value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


def crossed(*values: Sequence[Any]) -> list[Any]:
    """Every combination of the values; those with two or more values that are not the first are marked slow.

    So the first value is the one that says most.
    """
    found = []
    for combination in itertools.product(*values):
        others = [value for value, choices in zip(combination, values, strict=True) if value is not choices[0]]
        found.append(pytest.param(*combination, marks=[pytest.mark.slow] if len(others) > 1 else []))
    return found
