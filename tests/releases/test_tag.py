"""A tag is released only if version and changelog agree with it."""

from __future__ import annotations

import pytest
import tag

READY = "# Changelog\n\n## [0.2.0] - 2026-11-23\n\nChanges.\n\n## [0.1.0] - 2026-01-01\n\nFirst.\n"


@pytest.mark.parametrize(
    ("name", "changelog", "problem"),
    [
        ("v0.2.0", READY, None),
        ("v0.2.0", READY.replace("## [0.2.0]", "## [Unreleased]\n\n## [0.2.0]"), None),
        ("0.2.0", READY, "The tag is 0.2.0, but the version in pyproject.toml is 0.2.0."),
        ("v0.2.1", READY, "The tag is v0.2.1, but the version in pyproject.toml is 0.2.0."),
        ("v0.2.0", READY.replace("[0.2.0]", "[0.2.0rc1]"), "CHANGELOG.md has no section [0.2.0]."),
        ("v0.2.0", READY.replace(" - 2026-11-23", ""), "The section [0.2.0] of CHANGELOG.md has no date."),
        ("v0.2.0", READY.replace("Changes.\n", ""), "The section [0.2.0] of CHANGELOG.md is empty."),
        (
            "v0.2.0",
            READY.replace("## [0.2.0]", "## [Unreleased]\n\n- More.\n\n## [0.2.0]"),
            "CHANGELOG.md has unreleased changes that are not in the section [0.2.0].",
        ),
    ],
)
def test_what_keeps_a_tag_from_being_released(name, changelog, problem):
    """Each reason is one sentence, and only the one that applies."""
    assert tag.problems(name, "0.2.0", changelog) == ([problem] if problem else [])


def test_the_program_reads_this_project(monkeypatch, capsys):
    """An unknown tag is refused with the version of pyproject.toml on stderr."""
    monkeypatch.setattr("sys.argv", ["tag.py", "v999"])

    assert tag.main() == 1
    assert "The tag is v999, but the version in pyproject.toml is " in capsys.readouterr().err
