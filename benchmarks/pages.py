"""Measures the tables of the documentation and inserts them into their pages: `make tables`.

`pages.toml` declares the tables. A tree with uncommitted changes is refused, so that each table belongs to a commit;
changes of the pages themselves are allowed, because the tables are measured one after another.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from readme import insert

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
DECLARED = Path(__file__).with_name("pages.toml")


class MeasuredTable(NamedTuple):
    """A table of the documentation.

    Attributes:
        page: The page that shows it, relative to the project's folder.
        command: The command that measures it.
        file: The file that the command writes; empty if the command changes the page itself.
    """

    page: str
    command: str
    file: str = ""


def declared(path: Path = DECLARED) -> dict[str, MeasuredTable]:
    """Name -> table."""
    return {name: MeasuredTable(**table) for name, table in tomllib.loads(path.read_text("utf-8")).items()}


def changes(root: Path, tables: Mapping[str, MeasuredTable]) -> list[str]:
    """The files with uncommitted changes, besides the pages of the tables."""
    pages = {table.page for table in tables.values()}
    return [line[3:] for line in _git(root, "status", "--porcelain").splitlines() if line[3:] not in pages]


def measure(root: Path, name: str, table: MeasuredTable) -> int:
    """Run the table's command and insert the result; its exit status, and the page stays as it is unless that is 0."""
    words = shlex.split(table.command)
    program = [sys.executable] if words[0] == "python" else words[:1]
    (root / table.file).parent.mkdir(parents=True, exist_ok=True)
    # The arguments of this program are not those of a target that make runs.
    environ = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES"}}
    environ.pop("ARGS", None)
    status = subprocess.run([*program, *words[1:]], cwd=root, env=environ, check=False).returncode
    if status == 0 and table.file:
        commit = _git(root, "show", "--no-patch", "--format=%h, %cs").strip()
        text = f"{(root / table.file).read_text('utf-8').strip()}\n\nMeasured at commit {commit}."
        page = root / table.page
        page.write_text(insert(page.read_text("utf-8"), name, text), "utf-8")
    return status


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        (shutil.which("git") or "git", *words), cwd=root, capture_output=True, text=True, check=True
    ).stdout


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, path: Path = DECLARED) -> int:
    """Measure the tables that are named, or all; 1 if a command failed, 2 if nothing was measured."""
    tables = declared(path)
    parser = argparse.ArgumentParser(prog="make tables", description="Measure tables and insert them into their pages.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of: {', '.join(tables)} (default: all)")
    parser.add_argument("--list", action="store_true", help="print the tables, their pages and commands")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(tables)):
        parser.error(f"no such table: {', '.join(unknown)}")
    chosen = {name: table for name, table in tables.items() if name in options.names or not options.names}
    if options.list:
        for name, table in chosen.items():
            print(f"{name:<12} {table.page:<24} {table.command}")
        return 0
    if changed := changes(root, tables):
        print(f"commit these changes first: {', '.join(changed)}", file=sys.stderr)
        return 2
    failed = [name for name, table in chosen.items() if measure(root, name, table) != 0]
    if failed:
        print(f"failed, and left as they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
