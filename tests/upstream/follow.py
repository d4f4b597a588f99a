"""Reads the sources that patches rest on from every core release that pyproject.toml allows: `make sources NAME=core`.

It writes the fingerprints that the guards accept, and prints what each new release changes: the functions that do
something else, with a diff of their syntax trees, and the patches that rest on them. With `--history` it writes
docs/keeping-up.md instead, the patches that each of the last releases would have cost. Nothing is imported from the
releases. Exit status 1 means that a target was found in no release.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import itertools
import sys
from typing import TYPE_CHECKING

from harness import core, history, known, released
from harness.paths import StockError

from otel_fastpath.trace.stock_sources import KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

# Any release that is older than the lowest that pyproject.toml has ever named.
_FIRST = "1.30"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file of fingerprints, or the page of the history."""
    options = _options(arguments)
    try:
        if options.history:
            every = released.versions(core.SDK, _FIRST)[-options.history - 1 :]
            history.PAGE.write_text(history.page(every), encoding="utf-8")
            print(f"{history.PAGE}: {len(every) - 1} releases")
            return 0
        return _read(tuple(options.targets), options.since)
    except StockError as error:
        print(f"sources: {error}", file=sys.stderr)
        return 2


def _read(more: tuple[str, ...], since: str | None) -> int:
    versions = released.versions(core.SDK, core.oldest())
    before = known.releases(known.load(KNOWN.file))
    found: known.Known = {}
    for version in versions:
        for target, source in core.sources_of(version, more).items():
            known.record(found, target, source, version)
    for earlier, later in itertools.pairwise(versions):
        if later not in before or (since is not None and versions.index(later) > versions.index(since)):
            print("\n".join(history.changes(earlier, later)))
    missing = {*core.targets(), *more} - set(found)
    known.write(KNOWN.file, found)
    print(f"{KNOWN.file}: {len(found)} sources in {len(versions)} releases, {versions[0]} to {versions[-1]}")
    for target in sorted(missing):
        print(f"found in no release: {target}", file=sys.stderr)
    return 1 if missing else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("targets", nargs="*", metavar="module:name", help="sources that no patch declares")
    parser.add_argument("--since", metavar="VERSION", help="print the changes of each release after this one")
    parser.add_argument(
        "--history", type=int, nargs="?", const=10, metavar="N", help="write the page of the last N releases (10)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
