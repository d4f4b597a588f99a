"""The list of known differences: each entry names a test that exists; what it covers is no difference to `verify`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from otel_fastpath.tools.verify import report
from otel_fastpath.tools.verify.comparing import compare
from otel_fastpath.tools.verify.differences import listed
from otel_fastpath.tools.verify.export_items import Item

ROOT = Path(__file__).parents[3]
LISTED = listed()


@pytest.mark.parametrize("test", sorted({each.test for each in LISTED}))
def test_each_names_a_test(test):
    """As "tests/folder/test_file.py::test_name", or the class that joins a contract."""
    file, _, name = test.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))

    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def test_no_two_say_the_same():
    """A difference is listed once; an entry for `verify` has a signal and a name, one for a vendor has a path."""
    assert len({each.what for each in LISTED}) == len(LISTED)
    for each in LISTED:
        assert bool(each.signal) == bool(each.name), each
        assert bool(each.vendor) == bool(each.path) == bool(each.ours), each


def _size(value, name="http.server.response.size"):
    return Item("metric", "opentelemetry.instrumentation.fastapi", name, {"sum": value})


def test_what_is_listed_is_no_difference():
    """The report says what it was, and everything else remains a difference."""
    result = compare([[_size("5")]] * 2, [_size("9")])
    assert result.differences == []
    assert report.document(result).summary.text.startswith("the same telemetry")
    assert any("http.server.response.size differs as it is meant to" in note for note in report.document(result).notes)
    assert list(report.machine(result)["listed"]) == ["http.server.response.size"]

    other = compare([[_size("5", "http.server.duration")]] * 2, [_size("9", "http.server.duration")])
    assert [each.name for each in other.differences] == ["http.server.duration"]


def test_an_entry_covers_what_it_names_only():
    """`*` stands for anything."""
    [difference] = compare([[_size("5", "other")]] * 2, [_size("9", "other")]).differences
    [entry] = [each for each in LISTED if each.name == "http.server.response*.size"]

    assert entry.covers("metric", "http.server.response.body.size", difference.field)
    assert not entry.covers("metric", difference.name, difference.field)
    assert not entry.covers("span", "http.server.response.size", difference.field)
