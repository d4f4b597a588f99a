"""What the build keeps of what could be compiled."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from otel_fastpath import core


@pytest.fixture
def hook(monkeypatch):
    """The build hook, beside a stand-in for the build tool, which is there while building only."""
    name = "hatchling.builders.hooks.plugin.interface"
    stand_in = ModuleType(name)
    stand_in.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, name, stand_in)
    monkeypatch.delitem(sys.modules, "otel_fastpath.core.build_hook", raising=False)
    module = importlib.import_module("otel_fastpath.core.build_hook")
    monkeypatch.setattr(module, "ALONE", {"alone": "alone.c"})
    return module


@pytest.mark.parametrize(
    ("missing", "kept"),
    [
        ([], "all"),
        (["alone"], "twins"),
        (["otel_fastpath.core._span_c"], "alone"),
        (["otel_fastpath.core._span_c", "alone"], "nothing"),
    ],
)
def test_a_module_that_does_not_compile_takes_no_other_along_that_can_do_without(hook, tmp_path, missing, kept):
    """The twins of the core are all there or none; the callback of the exception counters is there or not."""
    compiled = {name: tmp_path / name for name in [*hook.EXTENSIONS, "alone"]}
    for name, path in compiled.items():
        if name not in missing:
            path.touch()
    expected = {"all": set(compiled), "twins": set(hook.EXTENSIONS), "alone": {"alone"}, "nothing": set()}[kept]
    assert set(hook.usable(compiled)) == expected


def test_the_twins_are_those_that_the_core_looks_for(hook):
    """The chooser of the core and the build name the same modules."""
    assert {f"otel_fastpath.core.{name}" for name in core.TWINS} == set(hook.EXTENSIONS)
