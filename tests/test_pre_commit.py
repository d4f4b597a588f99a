"""Before a commit, pre-commit runs what `make test` runs before the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CONFIGURATION = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
HOOKS = [hook for repository in CONFIGURATION["repos"] for hook in repository["hooks"]]
pytestmark = pytest.mark.source


def test_the_hooks_are_the_checks_of_the_makefile():
    """Linters and types, in the same order."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    checks = re.findall(r"^test: setup ([a-z ]*?) *##", makefile, re.MULTILINE)[0].split()

    assert checks[0] == "lint"
    assert [hook["entry"] for hook in HOOKS] == [f"make {name}" for name in checks]


def test_they_need_the_project_s_environment_alone():
    """Nothing is fetched from another repository, and the files are those that the project's configuration names."""
    assert [repository["repo"] for repository in CONFIGURATION["repos"]] == ["local"]
    assert {(hook["language"], hook["pass_filenames"]) for hook in HOOKS} == {("system", False)}


@pytest.mark.parametrize("name", ["otel_fastpath/settings.py", "tests/conftest.py", "pyproject.toml", "uv.lock"])
def test_they_run_where_their_result_can_change(name):
    """A commit of only prose does not wait for them."""
    assert [hook["id"] for hook in HOOKS if re.search(hook["files"], name)] == [hook["id"] for hook in HOOKS]
    assert [hook["id"] for hook in HOOKS if re.search(hook["files"], "docs/index.md")] == []
