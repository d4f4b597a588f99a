"""The instrumentations that `opentelemetry-instrument` does not load are named, with the reason."""

from __future__ import annotations

from importlib import metadata

import pytest

from otel_fastpath.status import loading


@pytest.mark.parametrize(
    ("required", "module", "imports", "problem"),
    [
        ("pytest>=1", "os", True, ""),
        ("pytest<1", "os", False, "made-up: it needs pytest<1, and pytest {} is installed."),
        ("no-such-library", "os", True, ""),
        ("pytest>=1", "no_such_module", True, "made-up: ModuleNotFoundError: No module named 'no_such_module'"),
        ("pytest>=1", "broken_module", True, "made-up: ImportError: no C library"),
        ("pytest>=1", "broken_module", False, ""),
    ],
)
def test_instrumentations_that_fail_to_load_are_named(tmp_path, monkeypatch, required, module, imports, problem):
    """Not those of libraries that are not installed, or that are disabled."""
    (tmp_path / "broken_module.py").write_text("raise ImportError('no\\nC library')")
    info = tmp_path / "made_up-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: made-up\nVersion: 1\nProvides-Extra: instruments\n"
        f'Requires-Dist: {required}; extra == "instruments"\n'
    )
    (info / "entry_points.txt").write_text(f"[opentelemetry_instrumentor]\nmade-up = {module}:path\n")
    monkeypatch.syspath_prepend(tmp_path)
    others = {each.name for each in metadata.entry_points(group="opentelemetry_instrumentor")} - {"made-up"}

    expected = [problem.format(metadata.version("pytest"))] if problem else []
    assert list(loading.problems(others, imports=imports)) == expected
    assert list(loading.problems({*others, "made-up"}, imports=imports)) == []
    assert list(loading.problems({"*"}, imports=imports)) == []
