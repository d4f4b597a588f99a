"""Patches: applied when their target is imported, undone exactly, made inert if other code has wrapped them.

This module does not depend on OpenTelemetry. `Patch` is a declaration; `Installation` is its state in this process.
"""

from __future__ import annotations

import importlib
import logging
import sys
import threading
import weakref
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath import compiled
from otel_fastpath.locks import Agenda, Lock
from otel_fastpath.patching import imports
from otel_fastpath.patching.patch_row import Row, State
from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.patching.sources import proven
from otel_fastpath.patching.sources.guard import (
    MAY_BE_MISSING,
    Distributions,
    ReplacedError,
    SkipError,
    UnknownError,
    UnmetError,
    check_sources,
    fingerprint,
    owner_of,
)
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.swapping import swap as _swap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from otel_fastpath.patching.stock import Stock
    from otel_fastpath.patching.swapping.diverting import Diversions

__all__ = [
    "Installation",
    "Patch",
    "Patcher",
    "ReplacedError",
    "Row",
    "SkipError",
    "State",
    "fingerprint",
    "installations",
]

_logger = Quiet(__name__)
_WHY_ONLY_COMPILED: Final = "in the pure core it would take as long as OpenTelemetry's own code"
# Of the log records about skipped patches.
_LEVELS: Final = {UnmetError: logging.INFO, ReplacedError: logging.DEBUG}


@dataclass(frozen=True)
class Patch:
    """The replacement of one attribute of another package's module or class.

    Attributes:
        name: Its name in the settings and in `otel-fastpath status`, e.g. "trace.start_span".
        target: "module:attribute" or "module:Class.attribute".
        why: One sentence: what the replaced code costs and what replaces it.
        make: Called with the raw original (which may be a descriptor) and the settings of the `Patcher`; returns the
            replacement. If it raises, the patch is skipped; `SkipError` is not an error and is logged without a
            traceback. No other patch may use the returned function: its code is replaced when the patch is undone. If
            other code has wrapped a replacement, that same replacement is put in force again later, with the settings
            that it was made with.
        requires: PEP 508 requirements that the installed distributions must meet, e.g. "opentelemetry-sdk>=1.40"; of
            several that " | " separates, one.
        sources: "module:qualified.name" -> the fingerprints (see `fingerprint`) of the sources that the replacement
            was written against; normally the target and the functions that its behaviour depends on. Their modules are
            imported for the check, so they must be dependencies of the target.
        parts: Likewise, of functions that the replacement calls where it does not know their source: it asks
            `stock.are_known`. The patch is applied all the same.
        decorators: Modules whose decorators are expected around the sources.
        stock: What else of stock the target's code calls; the replacement asks it at each call.
        diversions: The functions that the replacement diverts, which are given back after the patch is removed.
        undo: Called after the patch is removed; cleans up what the replacement left elsewhere.
        after: Modules that the replacement's own code imports; the patch waits until they are imported, too.
        only_compiled: Whether the patch is left off in the pure core: there, stock's code takes no longer.
        needs_gil: False if the replacement is also correct without the global interpreter lock.
        budgets: The names of the benchmark scenarios whose budgets limit what the replacement costs.
    """

    name: str
    target: str
    why: str
    make: Callable[[Any, Any], Any]
    requires: tuple[str, ...] = ()
    sources: Mapping[str, frozenset[str]] = field(default_factory=dict)
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    decorators: frozenset[str] = frozenset()
    stock: Stock | None = None
    diversions: Diversions | None = None
    undo: Callable[[], object] | None = None
    after: tuple[str, ...] = ()
    only_compiled: bool = False
    needs_gil: bool = True
    budgets: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that the target is in."""
        return self.target.partition(":")[0]


class Installation:
    """One patch in this process: waits for its modules, runs the guard, applies and undoes the patch.

    All methods are thread-safe and none raises. One thread at a time works on a patch, without holding a lock: a thread
    in an import hook holds the import lock of a module, and would deadlock if it waited here for a thread that imports
    that module. A second thread leaves its work to the first one and returns.
    """

    def __init__(self, patch: Patch, distributions: Distributions, log_skip: Callable[[int, str, str], None]) -> None:
        self.patch = patch
        self.state = State.OFF
        self.reason = "not instrumented"
        self._unknown = ""
        self._distributions = distributions
        self._log_skip = log_skip
        places = (patch.target, *(place for place, known in patch.sources.items() if MAY_BE_MISSING not in known))
        self._modules = tuple(dict.fromkeys((*(place.partition(":")[0] for place in places), *patch.after)))
        self._note = Lock()
        self._agenda = Agenda()
        self._off: str | None = self.reason
        self._settings: Any = None
        self._is_new = False
        self._executed: set[str] = set()
        self._swap: _swap.Swap | None = None

    @property
    def swap(self) -> _swap.Swap | None:
        """The swap, once the patch was applied."""
        return self._swap

    @property
    def settings(self) -> Any:
        """The settings that the patch was last installed with."""
        return self._settings

    def install(self, settings: Any = None) -> None:
        """Apply the patch now if its module is imported, otherwise when it is."""
        with self._note:
            self._off = None
            self._settings = settings
            self._is_new = True
        imports.watch(self._modules, self._module_executed)
        # The hooks of these are running, and this one may not be called any more.
        self._executed.update(
            name for name in self._modules if imports.is_executed(name) and not imports.is_imported(name)
        )
        for name in self._modules if not imports.in_hook() else ():
            # The hook does not see an import that another thread began before the watch: wait until that import ends.
            if sys.modules.get(name) is not None and not imports.is_imported(name):
                with suppress(Exception):
                    importlib.import_module(name)
        self._settle()

    def uninstall(self, reason: str = "uninstrumented") -> None:
        """Restore the very same original, or make the replacement inert if other code has wrapped it."""
        # Most patches of a process are off: those of what it does not import.
        if self._off == reason == self.reason and self._swap is None:
            return
        with self._note:
            self._off = reason
        imports.unwatch(self._modules, self._module_executed)
        self._settle()

    def row(self) -> Row:
        """This patch's line of the status."""
        reason, unknown = self.reason, self._unknown if self.state is State.SKIPPED else ""
        if self.state is State.APPLIED and self._swap is not None and not self._swap.is_seen():
            reason = f"replaced since, by {origin(self._swap.current())}"
        elif self.state is State.APPLIED:
            reason = "" if self.patch.stock is None else self.patch.stock.why_not()
            if not reason:
                reason, unknown = self._unknown_part()
        if self.state is State.APPLIED and not reason and proven.is_used():
            reason = proven.remark(self.places())
        return Row(self.patch.name, self.patch.target, self.state, reason, self.patch.why, unknown)

    def places(self) -> set[str]:
        """The functions of stock that the patch rests on: "module:qualified.name"."""
        stock = self.patch.stock
        of_stock = () if stock is None else stock.places()
        return {self.patch.target, *self.patch.sources, *self.patch.parts, *of_stock}

    def _unknown_part(self) -> tuple[str, str]:
        """What is to be said of the first of the parts that is left to stock's own code, and its place; or nothing."""
        try:
            check_sources(self.patch.parts, self.patch.decorators)
        except SkipError as skip:
            return f"{skip}: OpenTelemetry's own code runs for it", getattr(skip, "place", "")
        return "", ""

    def _module_executed(self, name: str) -> None:
        with self._note:
            self._executed.add(name)
            # A new module object under the same name has to be patched anew.
            self._is_new = self._is_new or name == self.patch.module
        self._settle()

    def _settle(self) -> None:
        self._agenda.do(self._work)

    def _work(self) -> None:
        with self._note:
            off, is_new = self._off, self._is_new
            self._is_new = False
        self._step(off, is_new=is_new)

    def _step(self, off: str | None, *, is_new: bool) -> None:
        """Apply or undo the patch, as was last requested."""
        if off is not None:
            is_off = self._swap is None or self._take_off(self._swap)
            self.state, self.reason = State.OFF, off if is_off else f"{off}, but wrapped by other code: it stays"
            return
        is_active = self._swap is not None and self._swap.is_active
        if not is_new and (is_active or self.state is State.SKIPPED):
            return
        awaited = self._awaited()
        if awaited is not None:
            self._is_new = self._is_new or is_new
            if not is_active:
                self.state, self.reason = State.WAITING, f"{awaited} is not imported yet"
            return
        try:
            self._apply()
            self.state, self.reason = State.APPLIED, ""
        except SkipError as skip:
            self.state, self.reason = State.SKIPPED, str(skip)
            self._unknown = skip.place if isinstance(skip, UnknownError) else ""
            # Unsupported versions need no warning, and other code's replacements not even a log record, which some of
            # that code would send on.
            level = _LEVELS.get(type(skip), logging.WARNING)
            self._log_skip(level, self.patch.name, str(skip))
        except Exception as error:
            self._unknown = ""
            self.state, self.reason = State.SKIPPED, f"{type(error).__name__}: {error}"
            _logger.exception("Patch %s was not applied; the original stays in place.", self.patch.name)

    def _awaited(self) -> str | None:
        """The module that must be imported before the patch can be applied."""
        # The guard imports the modules whose sources it checks. It must not do so while this thread imports a package
        # and another thread, which imports a submodule, waits for that package: one of the two imports would fail.
        may_import = not imports.in_hook() or threading.active_count() == 1
        for name in self._modules:
            if sys.modules.get(name) is None:
                if name in {self.patch.module, *self.patch.after} or not may_import:
                    return name
            elif name not in self._executed and not imports.is_imported(name):
                return name
        return None

    def _apply(self) -> None:
        try:
            owner, name = owner_of(sys.modules[self.patch.module], self.patch.target)
        except SkipError:
            # In versions that the patch does not support, a missing target is expected: report the versions instead.
            self._check_versions()
            raise
        old = self._swap
        if old is not None and old.owner is not owner:
            # The module was imported again: only users of the old module object still see the old patch.
            self._take_off(old)
            old = None
        if old is not None and old.is_seen():
            old.revive()
            return
        try:
            self._check_versions()
            check_sources(self.patch.sources, self.patch.decorators)
            if self.patch.stock is not None:
                self.patch.stock.check()
        except SkipError:
            if old is None or not old.is_perhaps_hidden():
                raise
            old.revive()
            return
        if old is not None:
            self._take_off(old)
            old.forget()
        new = _swap.Swap(owner, name)
        new.put(self.patch.make(new.callee, self._settings))
        self._swap = new

    def _check_versions(self) -> None:
        for requirement in self.patch.requires:
            self._distributions.check(requirement, any_version=bool(self.patch.sources))

    def _take_off(self, swap: _swap.Swap) -> bool:
        if not swap.is_active:
            swap.clear()
            return True
        if not swap.take_off():
            _logger.warning("Patch %s was wrapped by other code and cannot be undone: it stays.", self.patch.name)
            return False
        diversions = self.patch.diversions
        for undo in (None if diversions is None else diversions.undo, self.patch.undo):
            try:
                if undo is not None:
                    undo()
            except Exception:  # noqa: PERF203  # the other one is called, too
                _logger.exception("Patch %s was undone, but what it left behind could not be removed.", self.patch.name)
        return True


# Every set of patches of this process.
_patchers: Final[weakref.WeakSet[Patcher]] = weakref.WeakSet()


def installations() -> Iterator[Installation]:
    """Every patch of this process, in whatever state."""
    for patcher in tuple(_patchers):
        yield from patcher.installations.values()


class Patcher:
    """A set of patches that are installed and uninstalled together.

    Args:
        patches: The patches, in the order in which they are applied.
        look_up: See `Distributions`.
        beside: A patcher that is installed before this one: what it knows of the distributions is not looked up again,
            and the reasons that it has logged are not logged again.
    """

    def __init__(
        self,
        patches: Iterable[Patch],
        look_up: Callable[[str], Sequence[tuple[str, str]]],
        beside: Patcher | None = None,
    ) -> None:
        self._is_first = beside is None
        self._distributions: Distributions = Distributions(look_up) if beside is None else beside._distributions
        self._logged: set[str] = set() if beside is None else beside._logged
        _patchers.add(self)
        self.installations = {patch.name: Installation(patch, self._distributions, self._log_skip) for patch in patches}

    def install(self, off: Callable[[str], str | None] = lambda _name: None, settings: Any = None) -> None:
        """Install every patch for which `off(name)` returns None.

        Args:
            off: Returns why the patch of this name is off, or None if it is on.
            settings: Passed to each patch's `make`, and not used here.
        """
        if self._is_first:
            self._distributions.forget()
            self._logged.clear()
        for name, installation in self.installations.items():
            reason = off(name)
            if reason is None and installation.patch.only_compiled and not compiled.is_compiled():
                reason = _WHY_ONLY_COMPILED
            if reason is None:
                installation.install(settings)
            else:
                installation.uninstall(reason)

    def uninstall(self, reason: str = "uninstrumented") -> None:
        """Undo every patch, the last one first."""
        for installation in reversed(self.installations.values()):
            installation.uninstall(reason)

    def status(self) -> list[Row]:
        """The state of each patch, in the order of declaration."""
        imports.recheck()
        return [installation.row() for installation in self.installations.values()]

    def _log_skip(self, level: int, name: str, reason: str) -> None:
        """Log each reason once: a new release can affect all patches at the same time."""
        if reason not in self._logged:
            self._logged.add(reason)
            _logger.log(
                level, "Patch %s is left off: %s. The original stays; see `otel-fastpath status`.", name, reason
            )
