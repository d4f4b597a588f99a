"""Reads the sources that patches rest on from releases, and keeps their fingerprints in the files that guards read."""

from __future__ import annotations

import ast
import difflib
import json
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from packaging.version import Version

from harness.sources import NotFoundError, text_of
from otel_fastpath.patching.sources import syntax
from otel_fastpath.patching.sources.guard import text_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# Target -> fingerprint -> digest of the text -> the releases, separated by spaces.
Known: TypeAlias = "dict[str, dict[str, dict[str, str]]]"


class Source(NamedTuple):
    """The source of a target in a release."""

    fingerprint: str
    digest: str
    text: str


def read(roots: Sequence[Path], target: str) -> Source:
    """The source of a target in unpacked distributions.

    Raises:
        NotFoundError: It is not there.
    """
    text = text_of(roots, target)
    return Source(syntax.digest(syntax.parse_definition(text)), text_digest(text), text)


def read_all(roots: Sequence[Path], targets: Iterable[str]) -> dict[str, Source]:
    """The source of each target that the unpacked distributions have."""
    found = {}
    for target in targets:
        with suppress(NotFoundError):
            found[target] = read(roots, target)
    return found


def record(known: Known, target: str, source: Source, release: str) -> None:
    """Note that the target has this source in this release."""
    texts = known.setdefault(target, {}).setdefault(source.fingerprint, {})
    texts[source.digest] = f"{texts.get(source.digest, '')} {release}".strip()


def releases(known: Known) -> list[str]:
    """The releases that were read, in order."""
    lists = (of for found in known.values() for texts in found.values() for of in texts.values())
    return sorted({release for of in lists for release in of.split()}, key=Version)


def load(file: Path) -> Known:
    """The content of a file; empty if there is none."""
    known: Known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return known


def write(file: Path, known: Known) -> None:
    """Write a file, so that a change of one source changes few lines."""
    file.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def difference(before: Source, after: Source) -> list[str]:
    """The lines of a unified diff of what both sources do; empty if they do the same."""
    nodes = [syntax.remove_inert(syntax.parse_definition(each.text)) for each in (before, after)]
    texts = [ast.unparse(ast.fix_missing_locations(node)).splitlines() for node in nodes]
    return list(difflib.unified_diff(*texts, lineterm="", n=2))[2:]
