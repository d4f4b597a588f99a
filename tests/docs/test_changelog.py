"""What is not released yet is short: the sections of Keep a Changelog, and one sentence an entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CHANGELOG = Path(__file__).parents[2] / "CHANGELOG.md"
# Right after a release there may be no such section.
FOUND = re.search(r"^## \[Unreleased\]\n((?:(?!## ).*\n)*)", CHANGELOG.read_text(encoding="utf-8"), re.MULTILINE)
UNRELEASED = FOUND[1] if FOUND else ""
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
MOST_LINES = 140
pytestmark = pytest.mark.source


def test_each_section_is_there_once():
    """In their order; a merge of two changelogs easily repeats one."""
    found = re.findall(r"^### (.*)$", UNRELEASED, re.MULTILINE)

    assert found == [name for name in SECTIONS if name in found]


def test_it_is_short():
    """Entries about one subject are one, and tests and internals have none."""
    assert UNRELEASED.count("\n") <= MOST_LINES


def test_each_entry_is_one_sentence():
    """It ends with a full stop, and has no other one before a capital letter."""
    entries = [" ".join(each.split()) for each in re.findall(r"^- ((?:.+\n(?:  .+\n)*))", UNRELEASED, re.MULTILINE)]

    assert [each for each in entries if not each.endswith(".") or re.search(r"\. [A-Z\[]", each)] == []
