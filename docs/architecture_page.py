"""Draws the folders in docs/architecture.md from the imports of the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parents[1] / "otel_fastpath"
BEGIN: Final = "<!-- folders: begin -->\n"
END: Final = "<!-- folders: end -->"
# Modules that are only names.
_PUBLIC: Final = {"__init__", "budget", "gevent", "libraries", "profile"}
# Folders that are drawn as several.
_DIVIDED: Final = {"wrapping": ("gevent",)}


def page(text: str) -> str:
    """The text of docs/architecture.md with its drawing made again."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{drawing()}\n{END}{rest.partition(END)[2]}"


def drawing() -> str:
    """The folders and modules at the top of the package, each in a row above all that it imports."""
    rows = defaultdict(list)
    for unit, level in _levels(_imports()).items():
        rows[level].append(unit)
    lines = ["    " + "  ".join(sorted(rows[level])) for level in sorted(rows, reverse=True)]
    return "```text\n" + "\n".join(lines) + "\n```\n"


def _levels(imports: dict[str, set[str]]) -> dict[str, int]:
    """The row of each unit, from 0 at the bottom; those that import each other are in one."""
    reached = {unit: _reached(imports, unit) for unit in imports}
    found: dict[str, int] = {}
    # What reaches more is above: all that a unit reaches has its row already.
    for unit in sorted(imports, key=lambda each: len(reached[each])):
        below = [other for other in reached[unit] if unit not in reached[other]]
        found[unit] = max((found[other] + 1 for other in below), default=0)
    return found


def _reached(imports: dict[str, set[str]], unit: str) -> set[str]:
    found: set[str] = set()
    waiting = [unit]
    while waiting:
        new = imports[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def _imports() -> dict[str, set[str]]:
    """What each unit imports, also inside functions, but not for type checkers alone."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = [*path.relative_to(PACKAGE.parent).with_suffix("").parts]
        unit = _unit(parts)
        targets = found.setdefault(unit, set())
        for node in _at_run_time(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                targets.update(_unit(each.name.split(".")) for each in node.names if each.name.startswith(PACKAGE.name))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE.name):
                targets.update(_unit([*str(node.module).split("."), each.name]) for each in node.names)
        targets.discard(unit)
    # The public names import what defines them, some when they are first used.
    for unit in _PUBLIC:
        found.pop(unit)
    return {unit: targets - _PUBLIC for unit, targets in found.items()}


def _unit(parts: list[str]) -> str:
    """The unit of a module or of what is imported from it, as parts of its dotted name."""
    _, name, inner, *_ = [*parts, "__init__", ""]
    if inner in _DIVIDED.get(name, ()):
        return f"{name}/{inner}"
    is_unit = (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()
    return name if is_unit else "__init__"


def _at_run_time(node: ast.AST) -> list[ast.AST]:
    """The nodes of a module without those below `if TYPE_CHECKING`."""
    found = [node]
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            found += _at_run_time(child)
    return found
