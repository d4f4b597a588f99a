"""A patcher of one patch, and the module that it patches."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from onepatch import INSTALLED, SUBJECT, louder

from otel_fastpath.patching.patch import Patch, Patcher


@pytest.fixture
def patcher():
    """Makes a patcher of one patch; everything is undone at the end."""
    made = []

    def make(target="patched:function", make=louder, **fields):
        patch = Patch(name="one", target=target, why="A test.", make=make, **fields)
        made.append(Patcher([patch], lambda name: INSTALLED.get(name, [])))
        return made[-1]

    yield make
    for each in made:
        each.uninstall()


@pytest.fixture
def subject(modules):
    """The module to patch, written but not imported."""
    return modules("patched", SUBJECT)
