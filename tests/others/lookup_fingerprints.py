"""Writes otel_fastpath/others/version_lookups.json: the sources of the callers of version lookups, release by release.

Of each minor version the last release is read, in the text of its wheel; nothing is imported. Exit status 1 means that
a row of the table matches no release.

    python tests/others/lookup_fingerprints.py
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import sys
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

from harness import known, released  # a set of programs, not a part of a package
from harness.sources import NotFoundError

from otel_fastpath.others import patches_version_lookups

TARGET = Path(patches_version_lookups.__file__).with_name("version_lookups.json")


def releases(requirement: Requirement) -> list[str]:
    """The last release of each minor version that meets the requirement."""
    oldest = min(specifier.version for specifier in requirement.specifier)
    last: dict[tuple[int, int], str] = {}
    for release in released.versions(requirement.name, oldest, pre=True):
        if requirement.specifier.contains(release, prereleases=True):
            last[Version(release).release[:2]] = release
    return list(last.values())


def read(row: patches_version_lookups.Lookup, found: known.Known) -> None:
    """Record the callers of one row of the table in each of its releases."""
    requirement = Requirement(row.requires)
    for release in releases(requirement):
        root = released.wheel(requirement.name, release)
        for caller in row.callers:
            place = f"{row.module}:{caller}"
            try:
                source = known.read([root], place)
            except NotFoundError as reason:
                print(f"{row.name}: {requirement.name} {release}: {reason}", file=sys.stderr)
            else:
                known.record(found, place, source, release)


def main() -> int:
    """Read every row's releases and write the file."""
    found: known.Known = {}
    missing = []
    for row in patches_version_lookups.LOOKUPS:
        read(row, found)
        missing += [f"{row.name}: {caller}" for caller in row.callers if f"{row.module}:{caller}" not in found]
    known.write(TARGET, found)
    print(f"{TARGET}: {len(found)} functions")
    for line in missing:
        print(f"found in no release: {line}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
