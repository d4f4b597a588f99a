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
    return [
        pytest.param(
            *row,
            marks=[pytest.mark.slow]
            if sum(value is not of[0] for value, of in zip(row, values, strict=True)) > 1
            else [],
        )
        for row in itertools.product(*values)
    ]
