"""Writes otel_fastpath/others/openai_sources.json: where the accelerated OpenAI instrumentations are as they were read.

A patch is written against one release. For each source that it rests on, this notes the release's fingerprint and the
other releases that have the very same text; nothing is imported.

    python tests/others/openai_fingerprints.py
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import json
import sys
from pathlib import Path

from packaging.version import Version

sys.path.insert(0, str(Path(__file__).parents[1] / "upstream"))

from harness import released  # a set of programs, not a part of a package
from harness.sources import NotFoundError, fingerprint

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


def digest(distribution: str, release: str, place: str) -> str:
    """The fingerprint of a source in a release; empty where it has none."""
    try:
        return fingerprint([released.wheel(distribution, release)], place)
    except NotFoundError as reason:
        print(f"{distribution} {release}: {reason}", file=sys.stderr)
        return ""


def main() -> int:
    """Read every release and write the file."""
    known: dict[str, dict[str, list[str]]] = {}
    for distribution, (read, _, _) in READ.items():
        for place in places(distribution):
            wanted = digest(distribution, read, place)
            same = known.setdefault(place, {}).setdefault(wanted, [])
            for release in releases(distribution):
                if digest(distribution, release, place) == wanted:
                    same.append(release)
    TARGET.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{TARGET}: {len(known)} sources")
    return 0


if __name__ == "__main__":
    sys.exit(main())
