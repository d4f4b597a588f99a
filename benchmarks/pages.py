"""Measures the tables of the documentation and inserts them into their pages: `make tables`.

`pages.toml` declares the parts: a command each, and the tables that it measures. A tree with uncommitted changes is
refused, so that each table belongs to a commit; changes of the pages themselves are allowed, because the parts are
measured one after another.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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
        name: The name of its marks.
        page: The page that shows it, relative to the project's folder.
        file: The file that the command writes.
    """

    name: str
    page: str
    file: str


class Part(NamedTuple):
    """What one command measures.

    Attributes:
        command: The command.
        minutes: How long it takes on a machine with two processors that does nothing else.
        tables: Its tables.
        copies: The pictures of the documentation and the files that the command writes for them.
    """

    command: str
    minutes: float
    tables: tuple[MeasuredTable, ...]
    copies: Mapping[str, str]

    def pages(self) -> set[str]:
        """The files of the documentation that it changes."""
        return {table.page for table in self.tables} | set(self.copies)


def declared(path: Path = DECLARED) -> dict[str, Part]:
    """Name -> part."""
    return {name: _part(name, **fields) for name, fields in tomllib.loads(path.read_text("utf-8")).items()}


def _part(
    name: str,
    command: str,
    minutes: float,
    page: str,
    file: str,
    also: Sequence[Mapping[str, Any]] = (),
    copies: Mapping[str, str] | None = None,
) -> Part:
    tables = (MeasuredTable(name, page, file), *(MeasuredTable(**each) for each in also))
    return Part(command, minutes, tables, copies or {})


def changes(root: Path, parts: Mapping[str, Part]) -> list[str]:
    """The files with uncommitted changes, besides the pages of the tables."""
    pages = {page for part in parts.values() for page in part.pages()}
    return [line[3:] for line in _git(root, "status", "--porcelain").splitlines() if line[3:] not in pages]


def measure(root: Path, part: Part) -> int:
    """Run the part's command and insert the tables if it succeeds; return its exit status."""
    words = shlex.split(part.command)
    program = [sys.executable] if words[0] == "python" else words[:1]
    written = [root / file for file in (*(table.file for table in part.tables), *part.copies.values())]
    for file in written:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)  # an old one is no result of this run
    # The arguments of this program are not those of a target that make runs.
    environ = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES"}}
    environ.pop("ARGS", None)
    status = subprocess.run([*program, *words[1:]], cwd=root, env=environ, check=False).returncode
    if status == 0 and not all(file.exists() for file in written):
        return 1
    if status == 0:
        commit = _git(root, "show", "--no-patch", "--format=%h, %cs").strip()
        for table in part.tables:
            text = f"{(root / table.file).read_text('utf-8').strip()}\n\nMeasured at commit {commit}."
            page = root / table.page
            page.write_text(insert(page.read_text("utf-8"), table.name, text), "utf-8")
        for copy, file in part.copies.items():
            shutil.copyfile(root / file, root / copy)
    return status


def _git(root: Path, *words: str) -> str:
    return subprocess.run(
        (shutil.which("git") or "git", *words), cwd=root, capture_output=True, text=True, check=True
    ).stdout


def _described(parts: Mapping[str, Part]) -> str:
    lines = [f"  {name:<12} {part.minutes:>4g} min  {', '.join(sorted(part.pages()))}" for name, part in parts.items()]
    total = sum(part.minutes for part in parts.values())
    return "\n".join(
        ["parts, and the minutes that they take on a quiet machine:", *lines, f"  {'all':<12} {total:>4g} min"]
    )


def main(arguments: Sequence[str] | None = None, root: Path = ROOT, path: Path = DECLARED) -> int:
    """Measure the parts that are named, or all; 1 if a command failed, 2 if nothing was measured."""
    parts = declared(path)
    parser = argparse.ArgumentParser(
        prog="make tables",
        description="Measure tables and insert them into their pages.",
        epilog=_described(parts),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts to measure (default: all)")
    parser.add_argument("--list", action="store_true", help="print the parts, their minutes, pages and commands")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - set(parts)):
        parser.error(f"no such table: {', '.join(unknown)}")
    chosen = {name: part for name, part in parts.items() if name in options.names or not options.names}
    if options.list:
        for name, part in chosen.items():
            print(f"{name:<12} {part.minutes:>4g} min  {part.tables[0].page:<24} {part.command}")
        return 0
    if changed := changes(root, parts):
        print(f"commit these changes first: {', '.join(changed)}", file=sys.stderr)
        return 2
    failed = [name for name, part in chosen.items() if _told(root, name, part) != 0]
    if failed:
        print(f"failed, and left as they were: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _told(root: Path, name: str, part: Part) -> int:
    print(f"{name}: about {part.minutes:g} min", flush=True)
    began = time.monotonic()
    status = measure(root, part)
    print(f"{name}: took {(time.monotonic() - began) / 60:.1f} min", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
