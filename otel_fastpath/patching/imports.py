"""Tells those who ask of each import of a module: of the first, of one after `del sys.modules[...]`, of a reload.

`wrapt` has such hooks, too; they are told of the first import only, cannot be taken back, and miss the import while
another thread asks `importlib.util.find_spec` for the module.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def is_imported(name: str) -> bool:
    """Whether the module is there, and no thread is still executing it."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    # What the import statement itself looks at, to wait for another thread.
    return sys.modules.get(name) is not None and not getattr(spec, "_initializing", False)


class _Loader:
    """A module's own loader, which tells when it is done. It stands in for it only until the module is executed."""

    def __init__(self, loader: Any, told: Callable[[str], None]) -> None:
        self._loader = loader
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # Who asked for the module's spec and looks at the kind of its loader sees the real one.
        return type(self._loader)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module as its own loader does, and tell."""
        spec = module.__spec__
        name = module.__name__ if spec is None else spec.name
        for holder, attribute in ((spec, "loader"), (module, "__loader__")):
            if getattr(holder, attribute, None) is self:
                setattr(holder, attribute, self._loader)
        self._loader.exec_module(module)
        self._told(name)


class _Finder:
    """Finds nothing by itself: it asks the finders after it and puts a `_Loader` around what they find.

    Once in sys.meta_path it stays. To take an entry out of the list while another thread goes through it would make
    that thread's import skip a finder.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._watchers: dict[str, tuple[Callable[[str], None], ...]] = {}

    def watch(self, names: Sequence[str], call: Callable[[str], None]) -> None:
        with self._lock:
            for name in names:
                if call not in (watchers := self._watchers.get(name, ())):
                    self._watchers[name] = (*watchers, call)
            if not any(finder is self for finder in sys.meta_path):
                sys.meta_path.insert(0, self)

    def unwatch(self, names: Sequence[str], call: Callable[[str], None]) -> None:
        with self._lock:
            for name in names:
                watchers = tuple(each for each in self._watchers.pop(name, ()) if each != call)
                if watchers:
                    self._watchers[name] = watchers

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._watchers:
            return None
        finders = list(sys.meta_path)
        own = next((place for place, finder in enumerate(finders) if finder is self), -1)
        for finder in finders[own + 1 :]:
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _Loader(spec.loader, self._tell)  # type: ignore[assignment]
                return spec
        return None

    def _tell(self, name: str) -> None:
        for call in self._watchers.get(name, ()):
            call(name)


_finder: Final = _Finder()


def watch(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Call it with the name of each of these modules whenever one has been executed, in the importing thread.

    That thread holds the module's import lock, and what the call raises is what the import raises: the call must
    neither wait for another thread nor fail.
    """
    _finder.watch(names, call)


def unwatch(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Call it no more."""
    _finder.unwatch(names, call)
