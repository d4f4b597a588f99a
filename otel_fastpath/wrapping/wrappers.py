"""The feature that wraps libraries and makes stock's hooks in them cheap, each loaded when its library is imported."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from otel_fastpath.patching.declarations import LateInstallation
from otel_fastpath.patching.feature import Feature

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config
    from otel_fastpath.wrapping.library import Library, Wrapper


class Libraries(Feature):
    """Wrappers of libraries and patches of stock's instrumentations of them: a part for each."""

    def start(self, settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
        """Install the wrappers, now or when their libraries are imported."""
        for each in self.installations:
            name = each.part.wrapper
            # Wrong options are reported when the process is instrumented.
            is_set = bool(settings.mode(name) or settings.options(name))
            each.install(settings, off, providers, is_asked_for=is_set or settings.loads_all)

    def stop(self) -> None:
        """Remove them."""
        for each in reversed(self.installations):
            each.uninstall()

    def status(self, *, loads: bool = True) -> list[Row]:
        """The rows of the wrappers."""
        return [row for each in self.installations for row in each.status(loads=loads)]

    @functools.cached_property
    def installations(self) -> tuple[LateInstallation, ...]:
        """The wrappers of this process."""
        return tuple(LateInstallation(part, _wrap) for part in self.parts if part.wrapper)


def _wrap(library: Library) -> Wrapper:
    from otel_fastpath.wrapping.library import Wrapper  # noqa: PLC0415  # where nothing is wrapped it is not needed

    return Wrapper(library)
