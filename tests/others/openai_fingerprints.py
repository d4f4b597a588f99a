"""Writes otel_fastpath/others/openai_sources.json: where the accelerated OpenAI instrumentations are as they were read.

A patch is written against one release. For each source that it rests on, this notes the release's fingerprint and the
other releases whose source does the same; nothing is imported.

    python tests/others/openai_fingerprints.py
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import sys
from pathlib import Path

from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

from harness import known, released  # a set of programs, not a part of a package
from harness.sources import NotFoundError

from otel_fastpath.others import openai_sources, patches_openinference, patches_openllmetry

TARGET = Path(openai_sources.__file__).with_suffix(".json")
# Distribution -> the release that was read, the oldest that is looked at, whether only the last of each minor is.
READ = {
    "opentelemetry-instrumentation-openai": ("0.62.4", "0.55", True),
    "openinference-instrumentation-openai": ("0.1.66", "0.1.60", False),
}


def places(distribution: str) -> list[str]:
    """The sources that the patches of this distribution rest on."""
    patches = (*patches_openllmetry.PATCHES, *patches_openinference.PATCHES)
    found = {place for patch in patches if patch.requires[0].startswith(distribution) for place in patch.sources}
    return sorted(found | set(patches_openllmetry.INSIDE if distribution.startswith("opentelemetry") else ()))


def releases(distribution: str) -> list[str]:
    """Those that are looked at."""
    read, oldest, is_thinned = READ[distribution]
    found = [each for each in released.versions(distribution, oldest) if Version(each) <= Version(read)]
    last = {Version(each).release[:2] if is_thinned else each: each for each in found}
    return list(last.values())


def source(distribution: str, release: str, place: str) -> known.Source | None:
    """A source in a release; None if it has none."""
    try:
        return known.read([released.wheel(distribution, release)], place)
    except NotFoundError as reason:
        print(f"{distribution} {release}: {reason}", file=sys.stderr)
        return None


def main() -> int:
    """Read every release and write the file."""
    found: known.Known = {}
    for distribution, (read, _, _) in READ.items():
        for place in places(distribution):
            wanted = source(distribution, read, place)
            for release in releases(distribution):
                of_release = source(distribution, release, place)
                if wanted is not None and of_release is not None and of_release.fingerprint == wanted.fingerprint:
                    known.record(found, place, of_release, release)
    known.write(TARGET, found)
    print(f"{TARGET}: {len(found)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
