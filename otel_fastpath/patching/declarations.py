"""Parts of the package that are loaded when a library that they are for is imported.

A process pays for what it uses: while nothing imports redis, the package's modules for redis are not imported either.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Protocol

from otel_fastpath.locks import Agenda
from otel_fastpath.patching import imports
from otel_fastpath.patching.quiet import Quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.patch import Patch, Patcher, Row

    Off = Callable[[str], str | None]

_logger = Quiet(__name__)
PACKAGE = __name__.partition(".")[0]


class Declarations:
    """The declaration of a part: a module of this package, and when to import it.

    Args:
        place: The module with the declarations, below this package, e.g. "db.redis".
        modules: The names of the modules, or of the packages that contain them, that the part's patches are for. The
            part is loaded when the import of one of them begins.
        wrapper: The name of the wrapped library, if the part declares a `Library`, as LIBRARY; if this is empty, it
            declares `Patch` objects, as PATCHES.
    """

    def __init__(self, place: str, *modules: str, wrapper: str = "") -> None:
        self.place = place
        self.modules = modules
        self.wrapper = wrapper

    def load(self) -> Any:
        """What the part declares: a tuple of `Patch` objects, or a `Library`."""
        module = importlib.import_module(f"{PACKAGE}.{self.place}")
        return module.LIBRARY if self.wrapper else module.PATCHES

    def patches(self) -> tuple[Patch, ...]:
        """The patches that the part declares; loads it."""
        declared = self.load()
        found: tuple[Patch, ...] = declared.patches if self.wrapper else declared
        return found

    def is_loaded(self) -> bool:
        """Whether the module with the declarations is imported."""
        return f"{PACKAGE}.{self.place}" in sys.modules

    def is_needed(self) -> bool:
        """Whether a module that the part is for is imported, or being imported."""
        return any(imports.is_begun(name) for name in self.modules)


class Installer(Protocol):
    """What a part becomes in a process, such as a `Wrapper`."""

    def install(self, settings: Any, off: Off, providers: Mapping[str, Any]) -> None:
        """Apply the patches now or when their modules are imported."""

    def uninstall(self) -> None:
        """Remove the patches."""

    def status(self) -> list[Row]:
        """The state of the patches."""


class LateInstallation:
    """A part in this process: loaded when it is needed, or when everything is asked for. No method raises.

    Args:
        part: The part.
        make: Called once with what the part declares.
    """

    def __init__(self, part: Declarations, make: Callable[[Any], Installer]) -> None:
        self.part = part
        self._make = make
        self._made: Installer | None = None
        # What it is to be installed with, and what it is installed with; None if it is not.
        self._wanted: tuple[Any, Off, Mapping[str, Any]] | None = None
        self._given: tuple[Any, Off, Mapping[str, Any]] | None = None
        self._agenda = Agenda()

    def install(self, settings: Any, off: Off, providers: Mapping[str, Any], *, is_asked_for: bool = False) -> None:
        """Install the part now if it is needed or asked for, otherwise when it is needed."""
        self._wanted = (settings, off, providers)
        if self._made is None:
            imports.announce(self.part.modules, self._on_import)
            if not is_asked_for and not self.part.is_needed():
                return
        self._agenda.do(self._settle)

    def uninstall(self) -> None:
        """Remove what the part has installed; it no longer waits."""
        self._wanted = None
        imports.unannounce(self.part.modules, self._on_import)
        if self._made is not None:
            self._agenda.do(self._settle)

    def load(self) -> Installer | None:
        """What the part becomes, also if it was not needed before; None if it cannot be loaded."""
        if self._made is None:
            self._agenda.do(self._settle)
        return self._made

    def status(self, *, loads: bool = True) -> list[Row]:
        """The rows of the status: none if the part is not loaded, and is not to be loaded for them."""
        made = self.load() if loads else self._made
        return [] if made is None else made.status()

    def _on_import(self, _name: str) -> None:
        self._agenda.do(self._settle)

    def _settle(self) -> None:
        try:
            made = self._made
            if made is None:
                self._made = made = self._make(self.part.load())
            elif self._wanted is None:
                made.uninstall()
            # Read after loading, during which another thread may have uninstalled it.
            wanted, given = self._wanted, self._given
            self._given = wanted
            if wanted is not None and wanted is not given:
                made.install(*wanted)
            # Last, so that an import during the lines above is noticed, too.
            imports.unannounce(self.part.modules, self._on_import)
        except Exception:
            imports.unannounce(self.part.modules, self._on_import)
            _logger.exception("Failed to load %s; its libraries run without otel-fastpath.", self.part.place)


class Patches:
    """The patches of a part, as an `Installer`.

    Args:
        patcher: The patcher of these patches.

    Attributes:
        installations: Those of the patcher.
    """

    def __init__(self, patcher: Patcher) -> None:
        self._patcher = patcher
        self.installations = patcher.installations

    def install(self, settings: Any, off: Off, _providers: Mapping[str, Any]) -> None:
        """See `Patcher.install`."""
        self._patcher.install(off, settings)

    def uninstall(self) -> None:
        """See `Patcher.uninstall`."""
        self._patcher.uninstall()

    def status(self) -> list[Row]:
        """See `Patcher.status`."""
        return self._patcher.status()
