"""Finds out whether the compiled core was running when a sample was taken: its functions have no frames in Python."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS: Final = Path("/proc/self/maps")
_PACKAGE: Final = Path(__file__).resolve().parents[1]
# The address, the permissions, and further fields before the file.
_FIELDS: Final = 6


class Native:
    """The compiled modules of this package that are loaded.

    Attributes:
        modules: Their names, by the index that `take` returns.
    """

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._helper: Any = None
        self._places: dict[str, tuple[int, int]] = {}
        self._is_stale = False

    def watch(self) -> None:
        """Watch the main thread, which has to call this; does nothing if there are no compiled modules."""
        try:
            # Not in a pure wheel.
            self._helper = importlib.import_module("otel_fastpath.profile.native_c")
        except ImportError:
            return
        self._watch()

    def take(self) -> int:
        """The index of the module that was running when the signal came; -1 if none was. For the main thread."""
        if self._helper is None:
            return -1
        index: int = self._helper.take()
        if self._is_stale:
            self._watch()
        return index

    def refresh(self) -> None:
        """Look for modules that were imported meanwhile. Any thread may call this."""
        self._is_stale = self._helper is not None and len(_compiled()) > len(self.modules)

    def _watch(self) -> None:
        self._is_stale = False
        try:
            self._places.update(_loaded())
            self.modules = list(self._places)
            if not self._helper.watch(tuple(self._places.values())):
                self._helper = None
        except (OSError, ValueError) as error:
            self._helper = None
            faults.report("profile", error)


def _compiled() -> list[str]:
    """The names of the compiled modules that are imported."""
    return [name for name in list(sys.modules) if name.startswith("otel_fastpath.") and name.endswith("_c")]


def _loaded() -> Iterator[tuple[str, tuple[int, int]]]:
    """The names of the compiled modules, and where their code is in memory."""
    if not _MAPS.exists():
        return
    for line in _MAPS.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = line.split(maxsplit=_FIELDS - 1)
        if len(fields) == _FIELDS and "x" in fields[1] and fields[5].endswith(".so"):
            path = Path(fields[5])
            if path.is_relative_to(_PACKAGE):
                name = path.with_name(path.name.partition(".")[0]).relative_to(_PACKAGE.parent)
                begin, _, end = fields[0].partition("-")
                yield ".".join(name.parts).removesuffix("_c"), (int(begin, 16), int(end, 16))
