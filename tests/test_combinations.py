"""Which of the combinations of parameters are slow."""

from __future__ import annotations

import itertools
from collections import Counter
from types import SimpleNamespace

import pytest
from combinations import crossed, on_one_core


def test_each_value_is_once_beside_the_first_of_the_others():
    """All other combinations are slow."""
    quick = [each.values for each in crossed("ab", (1, 2, 3)) if not each.marks]

    assert quick == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def _item(name, core, case, marks=()):
    def closest(mark):
        return next((each for each in marks if each.name == mark), None)

    return SimpleNamespace(
        nodeid=f"{name}[{core}-{case}]",
        callspec=SimpleNamespace(params={"core": core, "case": case}, id=f"{core}-{case}"),
        get_closest_marker=closest,
        iter_markers=lambda name: [each for each in marks if each.name == name],
    )


@pytest.mark.parametrize("order", ["cores within cases", "cases within cores"])
def test_each_case_is_on_one_core_and_the_first_on_both(order):
    """Whichever of the two comes first in the order of the tests; both cores have their share."""
    pairs = itertools.product(("py", "c"), "abcd")
    if order == "cores within cases":
        pairs = sorted(pairs, key=lambda pair: pair[1])
    items = [_item("test", *pair) for pair in pairs]

    slow = list(on_one_core(items))
    quick = [item.callspec.params for item in items if item not in slow]

    assert Counter(each["case"] for each in quick) == {"a": 2, "b": 1, "c": 1, "d": 1}
    assert Counter(each["core"] for each in quick) == {"py": 3, "c": 2}


def test_what_is_slow_or_names_its_cores_stays_as_it_is():
    """And what has no cores."""
    named = pytest.mark.parametrize(("core", "case"), []).mark
    items = [
        *(_item("slow", core, case, [pytest.mark.slow.mark]) for core in ("py", "c") for case in "ab"),
        *(_item("named", core, case, [named]) for core in ("py", "c") for case in "ab"),
        SimpleNamespace(nodeid="plain"),
    ]

    assert list(on_one_core(items)) == []
