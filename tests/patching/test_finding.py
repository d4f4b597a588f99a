"""Whether a module is installed, found without importing anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

from otel_fastpath.patching import finding


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sys", True),
        ("json", True),
        ("json.decoder", True),
        ("json.nothing", False),
        ("json.decoder.nothing", False),
        ("nothing", False),
        ("nothing.json", False),
        ("opentelemetry.trace", True),
        ("opentelemetry.nothing.more", False),
    ],
)
def test_modules_of_this_process(name, expected):
    """Imported or not."""
    assert finding.is_installed(name) == expected


def test_nothing_is_imported(tmp_path):
    """Namespace packages, also one in two folders; a package that would fail is only found."""
    for folder, name in (("one", "a"), ("two", "b")):
        package = tmp_path / folder / "space" / "inner" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError")
        (package / "module.py").write_text("raise RuntimeError")
    program = f"""
import sys
sys.path[:0] = [{str(tmp_path / "one")!r}, {str(tmp_path / "two")!r}]
from otel_fastpath.patching.finding import is_installed
names = ["space", "space.inner", "space.inner.a", "space.inner.a.module", "space.inner.b.module", "space.inner.c"]
print([is_installed(name) for name in names], [name for name in sys.modules if name.startswith("space")])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout == "[True, True, True, True, True, False] []\n"
