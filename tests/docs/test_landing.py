"""The first page of the site: its figures are those of the measured tables, and it leads to every page."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.source,
    pytest.mark.skipif(sys.version_info < (3, 11), reason="the site is built with Python 3.11 and newer"),
]
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOME = DOCS / "theme" / "home.html"
sys.path.insert(0, str(DOCS))

import landing  # noqa: E402  # found only from here on


def test_each_figure_is_one_of_a_table():
    """As the pages have them."""
    facts = landing.facts()

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| {facts.stock} us of CPU per request | {facts.fastpath} us: " in readme
    assert f"us: {facts.less} less |" in readme
    assert re.search(rf"\| requests per second \| \d+ \| {facts.requests[0]} \| {facts.requests[1]} \|", readme)
    assert facts.spans[0] == facts.spans[1] != "0"
    assert 0 < int(facts.suites[0]) <= int(facts.suites[1])
    assert int(facts.patches) > 100
    assert all(re.fullmatch(r"[\d,.]+", each) for each in (*facts.chat, *facts.slowest, *facts.inventory))


def test_another_measurement_changes_it(tmp_path, monkeypatch):
    """Nothing is kept beside the tables."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").write_text(re.sub(r"\d+% less \|", "61% less |", readme), encoding="utf-8")
    monkeypatch.setattr(landing, "ROOT", tmp_path)

    assert landing.facts().less == "61%"


def test_no_figure_is_typed():
    """What the template says in digits is the name of a percentile."""
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<[^>]*>", "", HOME.read_text(encoding="utf-8"), flags=re.DOTALL)

    assert set(re.findall(r"\w*\d\w*", text)) == {"p99"}


def test_its_links_lead_to_pages():
    """Those of the template, and those of the index, which are all pages."""
    names = {path.stem for path in DOCS.glob("*.md")}
    index = landing.sections((DOCS / "index.md").read_text(encoding="utf-8"))

    assert set(re.findall(r'href="([\w-]+)\.html"', HOME.read_text(encoding="utf-8"))) <= names
    assert {address for section in index for _, address in section.pages} == {
        f"{name}.html" for name in names - {"index"}
    }


def test_a_table_that_is_missing_is_named(tmp_path):
    """The build fails."""
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- one: begin -->\n<!-- one: end -->\n")

    with pytest.raises(ValueError, match=r"page\.md has no table 'one'"):
        landing.rows(page, "one")
