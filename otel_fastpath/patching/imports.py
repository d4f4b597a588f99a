"""Import hooks, called for each import of a module: the first, one after `del sys.modules[...]`, and a reload.

`wrapt` has import hooks, too, but they run for the first import only, cannot be removed, and miss an import that
happens while another thread calls `importlib.util.find_spec` for the module.
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
    """Whether the module is in `sys.modules` and no thread is still executing it."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    # The import statement itself checks this attribute to wait for another thread.
    return sys.modules.get(name) is not None and not getattr(spec, "_initializing", False)


class _Loader:
    """Wraps a module's loader and calls back once the module is executed. The real loader is put back before that."""

    def __init__(self, loader: Any, told: Callable[[str], None]) -> None:
        self._loader = loader
        self._told = told

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `isinstance` on the loader of a spec must give the answer for the real loader.
        return type(self._loader)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with its own loader, then call back."""
        spec = module.__spec__
        name = module.__name__ if spec is None else spec.name
        for holder, attribute in ((spec, "loader"), (module, "__loader__")):
            if getattr(holder, attribute, None) is self:
                setattr(holder, attribute, self._loader)
        self._loader.exec_module(module)
        self._told(name)


class _Finder:
    """Finds no modules itself: it asks the finders after it and wraps the loaders of the specs that they return.

    It is never removed from `sys.meta_path`: removing an entry while another thread iterates over the list would make
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
    """Register a callable for these modules: it is called with a module's name whenever that module was executed.

    It runs in the importing thread, which holds the module's import lock, and the import raises what the callable
    raises: the callable must neither wait for another thread nor fail.
    """
    _finder.watch(names, call)


def unwatch(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Unregister a callable."""
    _finder.unwatch(names, call)
