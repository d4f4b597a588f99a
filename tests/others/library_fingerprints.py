"""Adds new releases to a file of sources that the patches of instrumentations of libraries rest on.

    python tests/others/library_fingerprints.py otel_fastpath/http/sources.json [module:name ...]

The sources are those in the file, and those that are named. A release that the file names for any source of the same
distribution has been read: it is not read again, so that a source which was left out stays out. For each source that
does something else than in the release before, the difference is printed. The texts of wheels are read, nothing is
imported. Exit status 1 means that a named source was found in no release, 2 that the releases could not be read.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

from harness import known, released  # a set of programs, not a part of a package
from harness.paths import StockError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# The lowest release of the instrumentations that pyproject.toml allows, for a distribution that a file does not name.
_OLDEST = "0.61b0"
# The distributions of propagators that are not named like their modules, and what they use of the API.
_PROPAGATORS = {"aws": "opentelemetry-propagator-aws-xray", "textmap": "opentelemetry-api"}
# The instrumentations that are not named like their modules.
_INSTRUMENTATIONS = {"kafka": "kafka-python"}
# The modules of `opentelemetry-instrumentation` that all instrumentations use.
_SHARED = {"_semconv", "cidict", "propagators", "utils"}


def distribution(place: str) -> str:
    """The distribution that has the module of "module:qualified.name"."""
    first, *rest = place.partition(":")[0].split(".")
    if first != "opentelemetry":
        return first
    if rest[0] == "propagators":
        return _PROPAGATORS.get(rest[1], f"opentelemetry-propagator-{rest[1]}")
    if rest[0] == "trace":
        return "opentelemetry-api"
    if rest[0] == "exporter":
        return f"opentelemetry-exporter-{rest[1]}"
    if rest[0] == "util":
        return f"opentelemetry-util-{rest[1]}"
    if rest[1] == "genai":
        rest[1] = f"genai-{rest[2]}"
    name = "" if rest[1] in _SHARED else f"-{_INSTRUMENTATIONS.get(rest[1], rest[1].replace('_', '-'))}"
    return f"opentelemetry-instrumentation{name}"


def read(found: known.Known, name: str, places: Sequence[str], oldest: str) -> None:
    """Record the sources of a distribution in the releases in which they have not been read.

    Args:
        found: What is known, to which this adds.
        name: The distribution.
        places: Its sources. One that is not known yet is read in all releases.
        oldest: The first release, if none of the distribution is known.
    """
    is_read = known.releases({place: found[place] for place in places if place in found})
    new = {place for place in places if place not in found}
    last: dict[str, known.Source] = {}
    for release in released.versions(name, is_read[0] if is_read else oldest, pre=True):
        if release in is_read and not new:
            continue
        wanted = [place for place in places if place in new or release not in is_read]
        sources = known.read_all([released.wheel(name, release)], wanted)
        for place, source in sources.items():
            before = last.get(place) or _newest(found, name, place)
            if before is not None and before.fingerprint != source.fingerprint:
                print("\n".join([f"{place} in {release}", *known.difference(before, source)]))
            last[place] = source
            known.record(found, place, source, release)
        for place in {*wanted} - {*sources} - new:
            print(f"{place} is not in {release}", file=sys.stderr)


def _newest(found: known.Known, name: str, place: str) -> known.Source | None:
    """The source of a place in the newest release that is known to have it; None if there is none."""
    if place not in found:
        return None
    release = known.releases({place: found[place]})[-1]
    return known.read([released.wheel(name, release)], place)


def main(arguments: Iterable[str] | None = None) -> int:
    """Read what is new and write the file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("places", nargs="*", metavar="module:name", help="sources that the file does not have yet")
    parser.add_argument("--oldest", default=_OLDEST, help="of a distribution that is not in the file; %(default)s")
    options = parser.parse_args(None if arguments is None else list(arguments))
    found = known.load(options.file)
    groups: dict[str, list[str]] = {}
    for place in sorted({*found, *options.places}):
        groups.setdefault(distribution(place), []).append(place)
    try:
        for name, places in groups.items():
            read(found, name, places, options.oldest)
    except StockError as error:
        print(f"library_fingerprints: {error}", file=sys.stderr)
        return 2
    known.write(options.file, found)
    print(f"{options.file}: {len(found)} sources")
    missing = [place for place in options.places if place not in found]
    for place in missing:
        print(f"found in no release: {place}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
