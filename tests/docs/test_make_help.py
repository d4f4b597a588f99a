"""`make help` lists the targets."""

from __future__ import annotations

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
    targets = {name for line in re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE) for name in line.split()}
    shown = subprocess.run(
        [MAKE, "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    found = dict(line.split(maxsplit=1) for line in shown.splitlines())

    assert found.keys() == targets
    assert [line for line in shown.splitlines() if len(line) > 100] == []
    assert re.findall(r"^([a-z][\w-]*):", text, re.MULTILINE)[0] == "help"
