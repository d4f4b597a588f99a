"""Finds out whether the compiled core was running when a sample was taken: its functions have no frames in Python."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from otel_fastpath.patching import faults

_HELPER = "otel_fastpath.tools.profile.compiled_code_c"


class Native:
    """The compiled modules of this package that are loaded.

    Attributes:
        modules: Their names, by the index that `take` returns.
    """

    def __init__(self) -> None:
        self.modules: list[str] = []
        self._helper: Any = None
        self._addresses: Any = None
        self._places: dict[str, tuple[int, int]] = {}
        self._is_stale = False

    def watch(self) -> None:
        """Watch the main thread, which has to call this; does nothing if there are no compiled modules."""
        try:
            # Not in every build of Python: ctypes. Not in a pure wheel: the helper.
            self._addresses = importlib.import_module("otel_fastpath.tools.profile.addresses")
            self._helper = importlib.import_module(_HELPER)
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

    def names(self) -> set[str]:
        """The names of the functions and methods of the compiled modules."""
        values = [value for name in _compiled() for value in vars(sys.modules[name]).values()]
        methods = {name for value in values if isinstance(value, type) for name in dir(value)}
        return methods | {str(getattr(value, "__name__", "")) for value in values if callable(value)}

    def refresh(self) -> None:
        """Look for modules that were imported meanwhile. Any thread may call this."""
        self._is_stale = self._helper is not None and len(_compiled()) > len(self.modules)

    def _watch(self) -> None:
        self._is_stale = False
        try:
            self._places.update(self._addresses.compiled_modules())
            self.modules = list(self._places)
            loop = self._addresses.interpreters_loop()
            stack = self._addresses.mapping_of(self._helper.here())
            if loop and stack:
                self._helper.watch(tuple(self._places.values()), loop, stack.end)
            else:
                self._helper = None
        except (OSError, ValueError) as error:
            self._helper = None
            faults.report("profile", error)


def _compiled() -> list[str]:
    """The names of the compiled modules that are imported, without the helper."""
    return [
        name
        for name in list(sys.modules)
        if name.startswith("otel_fastpath.") and name.endswith("_c") and name != _HELPER
    ]
