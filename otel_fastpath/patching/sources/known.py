"""Reads the fingerprints that guards accept from a file that `make sources` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from otel_fastpath.patching.sources.guard import MAY_BE_MISSING

if TYPE_CHECKING:
    from pathlib import Path


class Known:
    """The fingerprints in a JSON file: "module:qualified.name" -> fingerprint -> digest of its text -> the releases.

    The file is read when it is first needed.

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._places: dict[str, dict[str, dict[str, str]]] | None = None
        self._names: frozenset[str] = frozenset()

    def places(self) -> dict[str, dict[str, dict[str, str]]]:
        """The content of the file."""
        if self._places is None:
            self._places = json.loads(self.file.read_text(encoding="utf-8"))
        return self._places

    def names(self) -> frozenset[str]:
        """The names of the functions of modules that are in the file."""
        if not self._names:
            qualified = [place.partition(":")[2] for place in self.places()]
            self._names = frozenset(name for name in qualified if "." not in name)
        return self._names

    def sources(self, *places: str) -> dict[str, frozenset[str]]:
        """The fingerprints and digests of each place, for `Patch.sources`; none for a place that is not in the file."""
        known = self.places()
        found = ((place, known.get(place, {})) for place in places)
        return {place: frozenset([*of, *(text for texts in of.values() for text in texts)]) for place, of in found}

    def sources_if_any(self, *places: str) -> dict[str, frozenset[str]]:
        """Likewise, for places that not each supported release has: what calls them is among the sources, too."""
        return {place: known | {MAY_BE_MISSING} for place, known in self.sources(*places).items()}
