"""A feature is a folder: without it, its lines in `features.py` and its tests, the package is whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from otel_fastpath.features import LIBRARIES

pytestmark = [pytest.mark.slow, pytest.mark.source, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[1]
FOLDERS = sorted(
    {"/".join(part.place.split(".")[:2]) for part in LIBRARIES.parts} | {"exceptions", "others", "shedding"}
)
# What looks at the package as a whole, and what uses one of its features as an example.
LOOKS = (
    *("tests/test_layers.py", "tests/test_names.py", "tests/test_instrumentor.py", "tests/test_what_is_loaded.py"),
    *("tests/test_settings.py", "tests/test_import_orders.py", "tests/test_entry_point.py", "tests/compiled"),
    *("tests/patching", "tests/status", "tests/memcheck", "tests/start", "tests/faults/test_injection.py"),
    *("tests/docs/test_tables.py", "tests/wrapping/test_library.py"),
)


def copy(target):
    """A copy of the files under version control, and of what was built beside them."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607
    built = (path.relative_to(ROOT).as_posix() for path in (ROOT / "otel_fastpath").rglob("*.so"))
    for name in [*listed.splitlines(), *built]:
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def without(text, folder):
    """The text of `features.py` without the lines of a feature."""
    place = folder.replace("/", ".")
    text = re.sub(rf'^ +Declarations\(\s*"{place}(\.\w+)?",(?:[^()]|\([^()]*\))*\),\n', "", text, flags=re.MULTILINE)
    return re.sub(rf"^.*\b{place}\b.*(import register|\.FEATURE).*\n", "", text, flags=re.MULTILINE)


def do(root, *command):
    """Run a program of the copy, and show what it wrote if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, *command], cwd=root, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_feature_can_be_deleted(tmp_path, folder):
    """Its folder, its lines in the table, its tests; the pages that are made from the source are made again."""
    copy(tmp_path)
    table = tmp_path / "otel_fastpath" / "features.py"
    text = table.read_text(encoding="utf-8")
    table.write_text(without(text, folder), encoding="utf-8")
    for place in ("otel_fastpath", "tests"):
        shutil.rmtree(tmp_path / place / folder, ignore_errors=True)

    assert table.read_text(encoding="utf-8") != text
    do(tmp_path, "docs/tables.py")
    do(tmp_path, "-m", "ruff", "check", "-q", "otel_fastpath")
    do(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *LOOKS)
