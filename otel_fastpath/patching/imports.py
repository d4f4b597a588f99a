"""Import hooks, called before or after a module is executed: first import, one after `del sys.modules[...]`, reload.

`wrapt` has import hooks, too, but they run for the first import only, cannot be removed, and miss an import that
happens while another thread calls `importlib.util.find_spec` for the module.
"""

from __future__ import annotations

import importlib
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    Calls = dict[str, tuple[Callable[[str], None], ...]]


class _ImportDepth(threading.local):
    """How many import hooks this thread is in."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1


_hooks: Final = _ImportDepth()
# The import locks of the modules that are being looked for or executed, by name.
_locks: Final = getattr(getattr(importlib, "_bootstrap", None), "_module_locks", {})


def in_hook() -> bool:
    """Whether this thread is in an import hook: it then holds the import lock of a module."""
    return _hooks.depth > 0


def is_imported(name: str) -> bool:
    """Whether the module is in `sys.modules` and no thread is still executing it, or its hooks."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    # The import statement itself checks this attribute to wait for another thread.
    return sys.modules.get(name) is not None and not getattr(spec, "_initializing", False)


def is_begun(name: str) -> bool:
    """Whether the module is imported, or its import has begun: also if it is only looked for."""
    return sys.modules.get(name) is not None or name in _locks


def is_executed(name: str) -> bool:
    """Whether the module is imported, or has been executed while its hooks are still running."""
    return is_imported(name) or name in _finder.executed


class _CallbackLoader:
    """Wraps a module's loader and calls back before and after the module is executed.

    The real loader is put back first.
    """

    def __init__(self, loader: Any, finder: _CallbackFinder) -> None:
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # `isinstance` on the loader of a spec must give the answer for the real loader.
        return type(self._loader)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the module with its own loader, and call back before and afterwards."""
        spec = module.__spec__
        name = module.__name__ if spec is None else spec.name
        for holder, attribute in ((spec, "loader"), (module, "__loader__")):
            if getattr(holder, attribute, None) is self:
                setattr(holder, attribute, self._loader)
        finder = self._finder
        try:
            finder.begin(name)
            self._loader.exec_module(module)
        finally:
            finder.executing.discard(name)
        finder.tell(name)
        finder.recheck()


class _CallbackFinder:
    """Finds no modules itself: it asks the finders after it and wraps the loaders of the specs that they return.

    It is never removed from `sys.meta_path`: removing an entry while another thread iterates over the list would make
    that thread's import skip a finder.

    The import of a module may have begun before the module is watched: its loader is not wrapped then. While there are
    such modules, each loader is wrapped, so as to look before and after the next module is executed whether they are
    imported by now.

    Attributes:
        executing: The modules whose code is running, and whose loaders are wrapped.
        executed: The modules whose code has run, and whose hooks are running.
        missed: The watched modules whose imports had begun before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.before: Calls = {}
        self.after: Calls = {}
        # By the name of a top-level package: for each module in it.
        self.below: Calls = {}
        self.executing: set[str] = set()
        self.executed: set[str] = set()
        self.missed: set[str] = set()

    def add(self, calls: Calls, names: Sequence[str], call: Callable[[str], None]) -> None:
        with self._lock:
            for name in names:
                others = calls.get(name, ())
                calls[name] = others if call in others else (*others, call)
            if not any(finder is self for finder in sys.meta_path):
                sys.meta_path.insert(0, self)

    def look_for_missed(self, names: Sequence[str]) -> None:
        """Find those among these names, which are watched by now."""
        missed = [name for name in names if is_begun(name) and not is_executed(name) and name not in self.executing]
        with self._lock:
            self.missed.update(missed)

    def recheck(self) -> None:
        """Tell of the missed modules that are imported by now."""
        if not self.missed:
            return
        with self._lock:
            missed = tuple(self.missed)
        for name in missed:
            is_complete = is_imported(name)
            # If it is neither imported nor being imported, its import has failed.
            if is_complete or not is_begun(name):
                self._forget_missed(name)
            if is_complete:
                self.tell(name)

    def _forget_missed(self, name: str) -> None:
        with self._lock:
            self.missed.discard(name)

    def remove(self, calls: Calls, names: Sequence[str], call: Callable[[str], None]) -> None:
        with self._lock:
            for name in names:
                others = tuple(each for each in calls.pop(name, ()) if each != call)
                calls.update({name: others} if others else {})

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        is_watched = name in self.after or name in self.before or name.partition(".")[0] in self.below
        if not is_watched and not self.missed:
            return None
        finders = list(sys.meta_path)
        own = next((place for place, finder in enumerate(finders) if finder is self), -1)
        for finder in finders[own + 1 :]:
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find_spec is None else find_spec(name, path, target)
            if spec is not None:
                # Nothing is called here: this thread holds the import lock of all modules.
                # The loaders of built-in modules are classes, which all these modules share.
                if hasattr(spec.loader, "exec_module") and (is_watched or not isinstance(spec.loader, type)):
                    spec.loader = _CallbackLoader(spec.loader, self)  # type: ignore[assignment]
                return spec
        return None

    def begin(self, name: str) -> None:
        self.executing.add(name)
        self._forget_missed(name)
        self.recheck()
        with _hooks:
            for call in self.before.get(name, ()):
                call(name)

    def tell(self, name: str) -> None:
        self.executed.add(name)
        try:
            with _hooks:
                for call in (*self.after.get(name, ()), *self.below.get(name.partition(".")[0], ())):
                    call(name)
        finally:
            self.executed.discard(name)


_finder: Final = _CallbackFinder()


def watch(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Register a callable for these modules: it is called with a module's name whenever that module was executed.

    It runs in the importing thread, which holds the module's import lock, and the import raises what the callable
    raises: the callable must neither wait for another thread nor fail. If the module's import has begun already, it is
    called at the first import or `recheck` after that import, by whichever thread.
    """
    _finder.add(_finder.after, names, call)
    # Now, so that an import that begins meanwhile is noticed, too.
    _finder.look_for_missed(names)


def recheck() -> None:
    """Call back for the modules whose imports had begun before they were watched, and that are imported by now.

    The next import of a module does so, too.
    """
    _finder.recheck()


def unwatch(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Unregister a callable of `watch`."""
    _finder.remove(_finder.after, names, call)


def watch_below(packages: Sequence[str], call: Callable[[str], None]) -> None:
    """Register a callable for every module of these top-level packages, as `watch` does."""
    _finder.add(_finder.below, packages, call)


def unwatch_below(packages: Sequence[str], call: Callable[[str], None]) -> None:
    """Unregister a callable of `watch_below`."""
    _finder.remove(_finder.below, packages, call)


def announce(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Register a callable for these modules: it is called whenever a module is going to be executed.

    The same rules apply as for `watch`; besides, the callable must not use that module, nor import one that does.
    """
    _finder.add(_finder.before, names, call)


def unannounce(names: Sequence[str], call: Callable[[str], None]) -> None:
    """Unregister a callable of `announce`."""
    _finder.remove(_finder.before, names, call)
