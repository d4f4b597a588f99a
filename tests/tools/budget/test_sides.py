"""Head and base in one process: each sees its own modules, whenever it imports them."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Loads `hooks` on both sides in a process of its own, and prints what the two see.
PROGRAM = """
import sys
from otel_fastpath.tools.budget.counting import sides
head, base = sys.argv[1:3]
switch = sides.SideSwitch()
seen, shared = {}, {}
both = {}
for name, path in (("head", [head]), ("base", [base, head])):
    both[name] = switch.side(path, shared)
    switch.enter(both[name])
    import scenario
    seen[name] = scenario
    shared = sides.shareable(["common"])
for _ in range(3):
    for name in ("head", "base"):
        switch.enter(both[name])
        print(name, seen[name].call(), end="; ")
switch.leave()
print("hooks" in sys.modules, head in sys.path)
for name in ("common", "binary"):
    print(getattr(seen["head"], name) is getattr(seen["base"], name))
"""


@pytest.fixture
def trees(tmp_path):
    """Two versions of a package, and the scenario of the newer one."""
    for name, version in (("head", 2), ("base", 1)):
        package = tmp_path / name / "hooks"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f"VERSION = {version}\n")
        (package / "late.py").write_text(f"VERSION = {version}\n")
        (tmp_path / name / "common.py").write_text("")
    (tmp_path / "head" / "scenario.py").write_text(
        "import common\nimport hooks\nimport wrapt._wrappers as binary\n"
        "def call():\n    from hooks import late\n    return hooks.VERSION, late.VERSION\n"
    )
    return tmp_path / "head", tmp_path / "base"


def test_each_side_has_modules_of_its_own(trees):
    """Also those that a function imports late. What base does not have is head's; what is named is shared."""
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, trees)], capture_output=True, text=True, check=True, timeout=300
    )

    assert run.stdout.split("\n") == ["head (2, 2); base (1, 1); " * 3 + "False False", "True", "True", ""]
