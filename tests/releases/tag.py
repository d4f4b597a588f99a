"""Checks that a tag can be released: it names the version of pyproject.toml, whose section in the changelog has a date.

    python tests/releases/tag.py v0.2.0

Exit status 1: it cannot; the reasons are on stderr.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def problems(tag: str, version: str, changelog: str) -> list[str]:
    """The reasons why a tag cannot be released.

    Args:
        tag: The tag, `v` and a version.
        version: The version in pyproject.toml.
        changelog: The text of the changelog.

    Returns:
        One sentence each; an empty list if it can be released.
    """
    found = []
    if tag != f"v{version}":
        found.append(f"The tag is {tag}, but the version in pyproject.toml is {version}.")
    section = re.search(rf"^## \[{re.escape(version)}\](.*)\n((?:(?!## ).*\n)*)", changelog, re.MULTILINE)
    if section is None:
        found.append(f"CHANGELOG.md has no section [{version}].")
    elif not re.fullmatch(r" - \d{4}-\d{2}-\d{2}", section[1]):
        found.append(f"The section [{version}] of CHANGELOG.md has no date.")
    elif not section[2].strip():
        found.append(f"The section [{version}] of CHANGELOG.md is empty.")
    waiting = re.search(r"^## \[Unreleased\].*\n((?:(?!## ).*\n)*)", changelog, re.MULTILINE)
    if waiting is not None and waiting[1].strip():
        found.append(f"CHANGELOG.md has unreleased changes that are not in the section [{version}].")
    return found


def main() -> int:
    """Check the tag on the command line."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    found = problems(sys.argv[1], version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for problem in found:
        sys.stderr.write(f"{problem}\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
