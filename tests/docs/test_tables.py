"""Every patch and wrapper has a budget, a test that compares what it leaves, and a row in the documentation."""

from __future__ import annotations

import functools
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from otel_fastpath.features import FEATURES
from otel_fastpath.tools.budget import declare

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import architecture_page  # noqa: E402  # found only from here on
import differences_page  # noqa: E402  # likewise
import hot_names  # noqa: E402
import patches_page  # noqa: E402  # found only from here on
import tables  # noqa: E402  # likewise
import telemetry_page  # noqa: E402  # likewise

MOST_WORDS = 1500
PATCHES = {patch.name: patch for feature in FEATURES for patch in feature.all_patches()}


@pytest.fixture(scope="module")
def proofs():
    """Pattern of names -> tests."""
    return patches_page.proofs()


@functools.cache
def scenarios():
    """The names of all that is declared, without their variants."""
    files = [declare.read(ROOT / "benchmarks" / name) for name in ("budgets.toml", "accelerated.toml")]
    return {name.partition("[")[0] for file in files for name in file.scenarios}


def test_no_two_patches_have_a_name():
    """Settings, budgets and tests go by it."""
    assert len(PATCHES) == sum(len(feature.all_patches()) for feature in FEATURES)


def test_every_wrapper_has_patches():
    """What it costs and what it emits is held by those of its patches."""
    wrappers = [wrapper for feature in FEATURES for wrapper in feature.wrappers]

    assert wrappers
    for wrapper in wrappers:
        assert wrapper.patches, wrapper.name
        assert all(patch.name.startswith(f"{wrapper.name}.") for patch in wrapper.patches), wrapper.name


@pytest.mark.parametrize("name", PATCHES)
def test_every_patch_has_a_budget(name):
    """Of `budgets`, each is a scenario that is declared."""
    assert PATCHES[name].budgets, "declare a scenario in benchmarks/budgets.toml, and name it in the patch's `budgets`"
    assert set(PATCHES[name].budgets) <= scenarios()


@pytest.mark.parametrize("name", PATCHES)
def test_every_patch_is_compared_with_what_it_replaces(name, proofs):
    """By a test that is marked with its name."""
    assert patches_page.tests_of(name, proofs), f"mark a test with pytest.mark.proves({name!r})"


def test_what_is_proved_is_there(proofs):
    """A name in a mark is that of a patch, or a pattern of several that are made in one loop."""
    unknown = {pattern for pattern in proofs if not any(fnmatchcase(name, pattern) for name in PATCHES)}

    assert unknown == set()
    assert [pattern for pattern in proofs if pattern.startswith("*")] == []


def test_the_pages_are_what_is_declared():
    """`make docs-tables` writes them."""
    made = patches_page.pages()

    assert {path: path.read_text(encoding="utf-8") for path in made} == made
    assert sorted(path.name for path in made) == sorted(path.name for path in (ROOT / "docs").glob("patches*.md"))


def test_every_patch_has_a_page(monkeypatch):
    """One, by what its name begins with; a library that no subject names is on the last page."""
    subjects = patches_page.subjects()
    found = [patch.name for each in subjects for heading in each.sections for patch in each.patches(heading)]
    assert sorted(found) == sorted(PATCHES)

    monkeypatch.setattr(patches_page, "SUBJECTS", (patches_page.SUBJECTS[0], patches_page.SUBJECTS[-1]))
    *_, last = patches_page.subjects()
    assert "asyncpg.execute" in {patch.name for patch in last.patches("asyncpg")}


@pytest.mark.parametrize("family", ["patches", "performance", "telemetry"])
def test_the_parts_of_a_long_page_are_short(family):
    """Ten minutes each; the first one names all others."""
    first, *parts = sorted((ROOT / "docs").glob(f"{family}*.md"), key=lambda path: path.stem != family)
    text = first.read_text(encoding="utf-8")

    assert parts
    assert [path.name for path in parts if f"({path.name})" not in text] == []
    assert [path.name for path in (first, *parts) if len(path.read_text(encoding="utf-8").split()) > MOST_WORDS] == []


def test_the_page_of_differences_is_the_list():
    """`make docs-tables` writes it."""
    assert tables.DIFFERENCES.read_text(encoding="utf-8") == differences_page.page()


def test_the_drawing_of_the_folders_follows_from_the_imports():
    """Each is above all that it imports; `make docs-tables` draws it, and the page can be read in ten minutes."""
    text = tables.ARCHITECTURE.read_text(encoding="utf-8")
    rows = [line.split() for line in architecture_page.drawing().splitlines() if line.startswith("    ")]
    units = [unit for row in rows for unit in row]

    assert text == architecture_page.page(text)
    assert len(text.split()) <= 1500
    assert units.index("instrumentor") < units.index("db") < units.index("wrapping") < units.index("trace")
    assert {"patching", "compiled"} < set(units)


def test_the_telemetry_that_full_adds_is_what_is_made():
    """Each metric that a wrapper creates and each span that it declares; `make docs-tables` writes them."""
    made = telemetry_page.pages()

    assert {path: path.read_text(encoding="utf-8") for path in made} == made
    same = {row[1] for row in telemetry_page.metrics_rows() if row[-1] == "yes"}
    assert {name.partition(".")[0] for name in same} == {"`gen_ai"}
    own = [metric for feature in FEATURES for metric in feature.metrics()]
    text = "".join(made.values())
    assert own
    assert all(f"| {metric.part} | `{metric.name}` |" in text for metric in own)


def test_the_names_of_hot_modules_are_those_of_the_tree():
    """`make docs-tables` writes them; an editor follows each to its source."""
    text = hot_names.SOURCE.read_text(encoding="utf-8")

    assert text == hot_names.source(text)
