"""`make help` lists the targets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE = shutil.which("make")
pytestmark = [pytest.mark.source, pytest.mark.skipif(MAKE is None, reason="needs make")]


def test_each_target_has_a_line():
    """`make` alone prints the same."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for line in re.findall(r"^\.PHONY: ([a-z].*)$", text, re.MULTILINE) for name in line.split()}
    shown = subprocess.run(
        [MAKE, "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split(maxsplit=1) for line in shown.splitlines())

    assert found.keys() == targets
    assert [line for line in shown.splitlines() if len(line) > 100] == []
    assert len(targets) <= 30
    assert re.findall(r"^([a-z][\w-]*):", text, re.MULTILINE)[0] == "help"


@pytest.mark.parametrize("name", ["", "NAME=spam"])
def test_a_family_names_its_members(name):
    """`make suite` without one of them is an error that says which there are; a variable of the shell is none."""
    done = subprocess.run(
        [MAKE, "suite", *filter(None, [name])],
        check=False,
        cwd=ROOT,
        env={**os.environ, "NAME": "redis"},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 2
    assert f"NAME='{name.removeprefix('NAME=')}' is not one of: asyncpg cassandra" in done.stderr
