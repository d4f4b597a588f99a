"""Prints the fingerprints of "module:qualified.name" in every released version, for the guards of patches.

The first one is of what the source does, the second one of its text: a guard that knows the text does not parse it,
which takes milliseconds when a process starts. A list of known sources should have both. The module is looked up in
OpenTelemetry's core distributions, or in the one that `--distribution` names. Nothing is imported: the wheels are
fetched and their text is read. Exit status 1 means that a target was found in no version.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness import core, known, released
from harness.paths import StockError
from harness.sources import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence


def fingerprints(
    target: str, distributions: Sequence[str], versions: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """What the target's source is in each version.

    Returns:
        Both fingerprints -> versions, and, for those in which it was not found, why not -> versions.
    """
    found: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for version in versions:
        roots = core.roots(version, distributions)
        try:
            source = known.read(roots, target)
            found.setdefault(f"{source.fingerprint} {source.digest}", []).append(version)
        except NotFoundError as reason:
            missing.setdefault(str(reason), []).append(version)
    return found, missing


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the fingerprints of the targets on the command line or in a file."""
    options = _options(arguments)
    distributions = options.distribution or list(core.DISTRIBUTIONS)
    targets = [line for text in options.targets for line in _expanded(text)]
    try:
        versions = released.versions(distributions[0], options.oldest, pre=options.pre)
        results = {target: fingerprints(target, distributions, versions) for target in targets}
    except StockError as error:
        print(f"fingerprints: {error}", file=sys.stderr)
        return 2
    for target, (found, missing) in results.items():
        print(target)
        for value, where in found.items():
            print(f"    {value}  {' '.join(where)}")
        for reason, where in missing.items():
            print(f"    {'-' * 25}  {' '.join(where)}  ({reason})")
    return 0 if all(found for found, _ in results.values()) else 1


def _expanded(text: str) -> list[str]:
    """A target, or those listed in a file given as @file, a line each, # for comments."""
    if not text.startswith("@"):
        return [text]
    lines = (line.partition("#")[0].strip() for line in Path(text[1:]).read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "targets", nargs="+", metavar="module:name", help="e.g. opentelemetry.sdk.trace:Span.end; @FILE"
    )
    parser.add_argument("--distribution", action="append", help="look here instead; repeatable")
    parser.add_argument("--oldest", default=core.oldest(), help="oldest version; default: %(default)s")
    parser.add_argument("--pre", action="store_true", help="betas too, for what is released as betas only")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
