"""Two versions of one project in one process, each with its own modules.

Head and base can only be timed in the same milliseconds if both are loaded. Each side imports everything afresh except
the standard library, compiled extensions (most can only be loaded once), and the packages that the project declares as
shared. A side's modules are put into `sys.modules` before its blocks, so that imports in functions find their own side.
"""

from __future__ import annotations

import sys
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType


class Side:
    """One version: its modules, its paths and its import hooks, stored here while the side is not active."""

    def __init__(self, path: list[str], hooks: list[Any]) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.path = path
        self.hooks = hooks


class SideSwitch:
    """Decides which side's modules are active; the harness's modules are active first."""

    def __init__(self) -> None:
        self._standard = {name for name in sys.modules if _is_standard(name)}
        self._outside = Side(list(sys.path), list(sys.meta_path))
        self._current = self._outside
        self._known = -1

    def side(self, path: Sequence[str], shared: Mapping[str, ModuleType]) -> Side:
        """Make a side that has imported nothing yet.

        Args:
            path: Folders to import from before the environment's own.
            shared: Modules that the side finds already loaded.
        """
        return Side([*path, *self._outside.path], [_Shared(shared), *self._outside.hooks])

    def enter(self, side: Side) -> None:
        """Make this side's modules active; this is cheap if nothing was imported since."""
        leaving = self._current
        if side is leaving:
            return
        if len(sys.modules) != self._known:
            leaving.modules = {name: module for name, module in sys.modules.items() if not self._is_standard(name)}
        for name in leaving.modules.keys() - side.modules.keys():
            del sys.modules[name]
        sys.modules.update(side.modules)
        leaving.path, leaving.hooks = sys.path[:], sys.meta_path[:]
        sys.path[:], sys.meta_path[:] = side.path, side.hooks
        self._current, self._known = side, len(sys.modules)

    def leave(self) -> None:
        """Make the modules of the harness active again."""
        self.enter(self._outside)

    def _is_standard(self, name: str) -> bool:
        if name not in self._standard:
            if not _is_standard(name):
                return False
            self._standard.add(name)
        return True


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names or name == "__main__"


def shareable(packages: Sequence[str]) -> dict[str, ModuleType]:
    """The compiled modules, and the modules of the named packages, that are imported now."""
    return {
        name: module
        for name, module in tuple(sys.modules.items())
        if _is_compiled(module) or name.partition(".")[0] in packages
    }


def _is_compiled(module: ModuleType) -> bool:
    return isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader)


class _Loaded:
    """A loader of a module that is already loaded."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the other side has executed the module."""


class _Shared:
    """The first import hook of a side: it finds the modules that are already loaded."""

    def __init__(self, shared: Mapping[str, ModuleType]) -> None:
        self._shared = shared

    def find_spec(self, name: str, path: Sequence[str] | None, _target: Any = None) -> ModuleSpec | None:
        module = self._shared.get(name)
        if module is None:
            return None
        if _is_compiled(module):
            found = PathFinder.find_spec(name, path)
            if found is not None and found.origin != module.__spec__.origin:  # type: ignore[union-attr]
                return None
        return ModuleSpec(name, _Loaded(module), is_package=hasattr(module, "__path__"))  # type: ignore[arg-type]
