"""The tables of the documentation that are made of the source: run by `make docs-tables`, held by tests/docs.

A row of `patches.md` is a patch's declaration, and the tests that are marked `proves` with its name.
"""

from __future__ import annotations

import ast
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from otel_fastpath.rooms import ROOMS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otel_fastpath.patching.patch import Patch
    from otel_fastpath.patching.room import Room

ROOT = Path(__file__).parents[1]
PATCHES = ROOT / "docs" / "patches.md"
MARK = "pytest.mark.proves"
HEAD = """\
# Patches and wrappers

Made by `make docs-tables` from the declarations; edit those.

A **patch** replaces one attribute of OpenTelemetry, or of another package, when that is imported. `otel-fastpath
status` says which are applied in your process, and why others are not; `OTEL_FASTPATH_DISABLED` leaves them off by
name. The **budgets** are scenarios of `benchmarks/budgets.toml` and `benchmarks/accelerated.toml`, which `make budget`
and `make budget-accelerated` measure.
The **tests** compare what is emitted with and without the patch, or hold what our own wrapper emits.

An instrumentation of the same library has two patches more, `<library>.<its name>.instrument` and `.uninstrument`. They
run once, when it is told to instrument: see `Rival` in `otel_fastpath/libraries/library.py`.
"""
COLUMNS = "| Patch | What it replaces | Why | Budgets | Tests |\n| --- | --- | --- | --- | --- |\n"


def proofs() -> dict[str, list[str]]:
    """Pattern of names -> the tests that are marked with it, "tests/folder/test_file.py::test_name"."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if MARK in text:
            for pattern, test in _marked(ast.parse(text)):
                found.setdefault(pattern, []).append(f"{path.relative_to(ROOT).as_posix()}::{test}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == MARK:
                    yield from ((ast.literal_eval(each), node.name) for each in mark.args)


def tests_of(name: str, found: dict[str, list[str]]) -> list[str]:
    """The tests that prove the patch of this name."""
    every = (test for pattern, tests in found.items() if fnmatchcase(name, pattern) for test in tests)
    return list(dict.fromkeys(every))


def patches_page() -> str:
    """The text of docs/patches.md."""
    found = proofs()
    parts = [HEAD]
    for room in ROOMS:
        for title, why, patches in _sections(room):
            rows = "".join(_row(patch, tests_of(patch.name, found)) for patch in patches)
            parts.append(f"\n## {title}\n\n{why}{COLUMNS}{rows}")
    return "".join(parts)


def _sections(room: Room) -> Iterator[tuple[str, str, tuple[Patch, ...]]]:
    own = (*room.patches, *room.own_patches)
    if own:
        yield room.name, "", own
    for wrapper in room.wrappers:
        yield f"{room.name}: {wrapper.name}", f"{wrapper.why}\n\n", wrapper.patches


def _row(patch: Patch, tests: list[str]) -> str:
    why = patch.why.replace("|", "\\|")
    budgets = "<br>".join(patch.budgets)
    names = "<br>".join(f"`{test}`" for test in tests)
    return f"| `{patch.name}` | `{patch.target}` | {why} | {budgets} | {names} |\n"


if __name__ == "__main__":
    PATCHES.write_text(patches_page(), encoding="utf-8")
