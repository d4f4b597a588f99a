"""Combinations of parameters of which `make test` has one for each value."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def crossed(*values: Sequence[Any]) -> list[Any]:
    """Every combination of the values; those with two or more values that are not the first are marked slow.

    So the first value is the one that says most.
    """
    found = []
    for combination in itertools.product(*values):
        others = [value for value, choices in zip(combination, values, strict=True) if value is not choices[0]]
        found.append(pytest.param(*combination, marks=[pytest.mark.slow] if len(others) > 1 else []))
    return found


def on_one_core(items: Iterable[Any]) -> Iterator[Any]:
    """Those of the tests that run on both cores which are slow: each case is on one core in turn, the first on both."""
    cases: dict[str, dict[str, int]] = {}
    for item in items:
        core = item.callspec.params.get("core") if hasattr(item, "callspec") else None
        if core is None or item.get_closest_marker("slow") is not None:
            continue
        if any("core" in str(mark.args[0]) for mark in item.iter_markers("parametrize")):
            continue
        others = item.callspec.id.split("-")
        others.remove(core)
        of_test = cases.setdefault(item.nodeid.partition("[")[0], {})
        number = of_test.setdefault("-".join(others), len(of_test))
        if number and (number % 2 == 0) is (core == "py"):
            yield item
