"""The pages: their links, the README's length, and the commands and settings that they name."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

from otel_fastpath import settings
from otel_fastpath.__main__ import _parser
from otel_fastpath.features import FEATURES, LIBRARIES
from otel_fastpath.tools.common.served_application import with_application

pytestmark = pytest.mark.source
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(ROOT / "examples").rglob("*.md")])
MOST_WORDS = 700


def named(path):
    """A page's name in the tests' names."""
    return path.relative_to(ROOT).as_posix()


def prose(path):
    """The text of a page, without blocks of code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def links(path):
    """The targets of the links of a page, to files of this project: (path, anchor)."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        place, _, anchor = target.partition("#")
        if not target.startswith(("https:", "http:")):
            yield (path.parent / place if place else path), anchor


def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def commands(path):
    """The lines of a page's indented blocks, without comments."""
    for line in re.findall(r"^    (\S.*)$", prose(path), re.MULTILINE):
        yield line.partition(" #")[0].strip()


def targets():
    """The targets of the Makefile."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"[\w-]+", " ".join(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE))))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_to_files_and_headings(page):
    """Of this project; other sites are not asked."""
    broken = [
        f"{place.name}#{anchor}"
        for place, anchor in links(page)
        if not place.exists() or (anchor and anchor not in anchors(place))
    ]

    assert broken == []


def test_a_broken_link_is_found(tmp_path):
    """Of each kind."""
    page = tmp_path / "page.md"
    page.write_text("# One's `own` page\n[a](#ones-own-page) [b](#two) [c](no.md) [d](https://d.example/d.md)\n")

    assert list(anchors(page)) == ["ones-own-page"]
    assert list(links(page)) == [
        (page, "ones-own-page"),
        (page, "two"),
        (tmp_path / "no.md", ""),
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=named)
def test_the_words_are_plain(page):
    """Code is otel-fastpath's or a library's, not "ours"; an instrumentation is enabled, not "told to instrument"."""
    text = re.sub(r"`[^`]*`", "", prose(page))

    assert re.findall(r"\b(?:ours|tells of|told (?:of|to))\b", text, re.IGNORECASE) == []


def test_the_readme_is_short():
    """It is a landing page; the rest is in docs/."""
    words = [each for each in README.read_text(encoding="utf-8").split() if re.search(r"\w", each)]

    assert len(words) <= MOST_WORDS


def test_the_first_sentence_of_the_readme_is_that_of_its_table():
    """What is cut by about three quarters is what the services below it have less."""
    text = README.read_text(encoding="utf-8")
    less = [int(number) for number in re.findall(r"us: (\d+)% less \|", text)]

    assert "cuts\nthis cost by about three quarters" in text
    assert len(less) == 2
    assert all(70 <= each <= 80 for each in less)


def test_the_index_names_every_page():
    """Each page of the folder, once."""
    named = [place.name for place, _ in links(DOCS / "index.md") if place.parent == DOCS]

    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "index.md")


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_commands_are_commands(page):
    """Targets of make, options of otel-fastpath, and files that are run."""
    text = prose(page)
    made = set(re.findall(r"(?:`|^    )make ([a-z][\w-]*)", text, re.MULTILINE))
    run = re.findall(r"\bpython (?:-m )?((?:examples|benchmarks|tests)[\w./]*)", text)

    if page.name != "CHANGELOG.md":  # which says what was removed
        assert made <= targets()
        assert [each for each in run if not _runs(each)] == []
    for line in commands(page):
        if line.startswith("otel-fastpath "):
            words = [word for word in shlex.split(line)[1:] if not word.startswith("[")]
            if words[:1] == ["status"]:
                words[1:] = with_application(words[1:])
            assert isinstance(_parser().parse_args(words), argparse.Namespace)


def _runs(name):
    path = ROOT / (name if name.endswith(".py") else name.strip(".").replace(".", "/"))
    return path.is_file() or path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_every_setting_has_a_row():
    """Its variable and its argument; those of a library are on another page."""
    page = (DOCS / "settings.md").read_text(encoding="utf-8")
    others = [path.read_text(encoding="utf-8") for path in DOCS.glob("*.md") if path.name != "settings.md"]

    for name in [*settings._SETTINGS, *(each.name for feature in FEATURES for each in feature.settings)]:
        assert f"| `OTEL_FASTPATH_{name.upper()}` | `{name}` |" in page
    for name in settings._OF_THE_BUILD:
        assert f"| `{name}` |" in page
    for library in LIBRARIES.wrappers:
        variable = f"OTEL_FASTPATH_{library.name.upper()}"
        assert [text for text in others if f"`{variable}" in text and f"{variable}_OPTIONS" in text], library.name
