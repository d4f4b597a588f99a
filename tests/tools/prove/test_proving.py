"""Which sources count as proven."""

from __future__ import annotations

import pytest

from otel_fastpath.tools.prove.proving import Group, Source, find_causes, proven_sources

FIRST = Source("m:first", "0123456789ab", ["one", "both"])
SECOND = Source("m:second", "ba9876543210", ["two", "both"])


def groups():
    """Two patches with a source each."""
    return [Group([each.place], [each], list(each.programs)) for each in (FIRST, SECOND)]


@pytest.mark.parametrize(
    ("differing", "alone", "expected"),
    [
        ([], {}, ["m:first", "m:second"]),
        (["one"], {"m:first": ["one"]}, ["m:second"]),
        (["one", "two"], {"m:first": ["one"], "m:second": ["two"]}, []),
        # Neither makes the difference alone.
        (["both"], {}, []),
    ],
)
def test_a_difference_has_causes(differing, alone, expected):
    """Each patch is tried alone; if none is the cause, all are."""
    found = groups()
    find_causes(found, differing, lambda group: alone.get(group.patches[0], []))

    assert sorted(proven_sources(found)) == expected


def test_one_patch_is_the_cause_of_all():
    """It need not be tried again."""
    found = groups()[:1]
    find_causes(found, ["one"], lambda _group: pytest.fail("tried again"))

    assert found[0].differing == ["one"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source("m:f", "0"), "no program executes m:f"),
        (Source("m:f", "0", ["one"], [7]), "no program executes line 7 of m:f"),
        (Source("m:f", "0", ["one"], [7, 8]), "no program executes lines 7, 8 of m:f"),
        (Source("m:f", "0", ["one"]), ""),
    ],
)
def test_what_is_not_executed_is_not_proven(source, expected):
    """Although no program differs."""
    group = Group(["patch"], [source], ["one"])

    assert (group.missing, group.is_proven) == (expected, not expected)
