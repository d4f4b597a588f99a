"""Loads a stock instrumentation when its library is imported, not before.

`opentelemetry-instrument` imports every instrumentation, which imports its library: three quarters of the time that it
takes, if the program does not use these libraries. Here `load_instrumentor` of OpenTelemetry's distribution waits for
the library. It then does what it would have done, before the importer can use the library.
"""

from __future__ import annotations

import functools
import logging
import sys
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.dependencies import DependencyConflictError
from opentelemetry.instrumentation.distro import BaseDistro  # type: ignore[attr-defined]

from otel_fastpath.locks import Agenda
from otel_fastpath.patching import imports
from otel_fastpath.patching.stock import inherits
from otel_fastpath.patching.swapping.swap import Swap
from otel_fastpath.start import conflicts, libraries

if TYPE_CHECKING:
    from collections.abc import Callable

# The logger that reports instrumentations which are loaded at the start.
_logger: Final = logging.getLogger("opentelemetry.instrumentation.auto_instrumentation._load")

_swaps: Final[list[Swap]] = []


def begin() -> None:
    """Let instrumentations wait for their libraries from now on, and read their metadata quickly."""
    if not any(swap.is_active for swap in _swaps):
        swap = Swap(BaseDistro, "load_instrumentor")
        swap.put(_make(swap.original))
        _swaps[:] = [swap, *conflicts.replace_readers()]


def end() -> None:
    """Let distributions load instrumentations at once again. Those that wait still do."""
    for swap in _swaps:
        swap.take_off()
    _swaps.clear()


def _make(original: Any) -> Any:
    @functools.wraps(original)
    def load_instrumentor(self: Any, entry_point: Any, **kwargs: Any) -> Any:
        load = functools.partial(original, self, entry_point, **kwargs)
        # A distribution with a method of its own decides itself when it loads what.
        is_inherited = inherits(type(self), BaseDistro, ("load_instrumentor",))
        modules = libraries.awaited(entry_point) if is_inherited else ()
        if not modules or any(sys.modules.get(name) is not None for name in modules):
            return load()
        LateInstrumentation(entry_point.name, (*modules, entry_point.module), load).wait()
        return None

    return load_instrumentor


class LateInstrumentation:
    """An instrumentation that waits for its library.

    Args:
        name: The name of its entry point.
        modules: The modules of the library, the first import of one of which it waits for; the last one is the
            instrumentation's own, which a program may import without the library.
        load: Loads it and instruments the library.
    """

    def __init__(self, name: str, modules: tuple[str, ...], load: Callable[[], object]) -> None:
        self._name = name
        self._modules = modules
        self._load = load
        self._is_done = False
        # In a forked child, work that the parent had begun in another thread is begun again.
        self._agenda = Agenda()

    def wait(self) -> None:
        """Load the instrumentation as soon as one of the modules has been executed."""
        imports.watch(self._modules, self._on_import)

    def _on_import(self, _name: str) -> None:
        self._agenda.do(self._attempt)

    def _attempt(self) -> None:
        # While the instrumentation's own module is executed, it imports the library, and is not complete.
        if self._is_done or self._is_being_imported(self._modules[-1]):
            return
        try:
            self._load()
            _logger.debug("Instrumented %s", self._name)
        except Exception as error:
            if self._is_in_the_way(error):
                imports.watch_below(self._packages(), self._on_import)
                return
            _report(self._name, error)
        self._is_done = True
        imports.unwatch(self._modules, self._on_import)
        imports.unwatch_below(self._packages(), self._on_import)

    def _is_in_the_way(self, error: Exception) -> bool:
        """Whether it failed because the library is being imported, so that it is worth another attempt.

        It runs in the import of the library's first module. If another thread waits for that to import a second one,
        this thread cannot import the second one.
        """
        chain: BaseException | None = error
        while chain is not None:
            if type(chain).__name__ == "_DeadlockError":
                return True
            chain = chain.__cause__ or chain.__context__
        if not isinstance(error, (ImportError, AttributeError)):
            return False
        packages = self._packages()
        return any(name.partition(".")[0] in packages and self._is_being_imported(name) for name in tuple(sys.modules))

    def _packages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name.partition(".")[0] for name in self._modules[:-1]))

    @staticmethod
    def _is_being_imported(name: str) -> bool:
        return sys.modules.get(name) is not None and not imports.is_executed(name)


def _report(name: str, error: Exception) -> None:
    """Report that an instrumentation could not be loaded, as `opentelemetry-instrument` does at the start."""
    if isinstance(error, DependencyConflictError):
        log = getattr(error.conflict, "_log", None)
        if log is None:
            # Before 0.66b0.
            _logger.debug("Skipping instrumentation %s: %s", name, error.conflict)
        else:
            log(_logger, name)
    elif isinstance(error, ModuleNotFoundError):
        _logger.debug("Skipping instrumentation %s: %s", name, error.msg)
    elif isinstance(error, ImportError):
        _logger.error("Importing of %s failed, skipping it", name, exc_info=error)
    else:
        _logger.error("Instrumenting of %s failed", name, exc_info=error)
