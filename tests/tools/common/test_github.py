"""Lines that GitHub Actions shows as annotations."""

from __future__ import annotations

import pytest

from otel_fastpath.tools.common.render import github


@pytest.mark.parametrize(("value", "wanted"), [("true", True), ("", False), ("false", False)])
def test_only_in_a_workflow(monkeypatch, value, wanted):
    """GitHub sets the variable to "true"."""
    monkeypatch.setenv("GITHUB_ACTIONS", value)

    assert github.is_workflow() is wanted


def test_what_has_a_meaning_there_is_escaped(monkeypatch, tmp_path):
    """Line breaks, per cent signs and, in properties, what separates them."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))

    line = github.error_line(tmp_path / "a,b.toml", 3, "one: two", "+2% of 1,234\nsecond: line")

    assert line == "::error file=a%2Cb.toml,line=3,title=one%3A two::+2%25 of 1,234%0Asecond: line"


def test_a_file_elsewhere_is_named_as_it_is(monkeypatch, tmp_path):
    """It is not in the workspace."""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "workspace"))

    assert github.error_line("/etc/budgets.toml", 1, "title", "text").startswith(
        "::error file=/etc/budgets.toml,line=1,"
    )
