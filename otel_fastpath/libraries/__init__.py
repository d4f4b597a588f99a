"""Our own instrumentation of libraries: one module or folder per library, each exporting LIBRARY.

A wrapper never imports its library: its patches are applied when the application does. See `library.Library` for what
a wrapper declares, and `call` for what it does around a call.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from otel_fastpath.libraries.library import Wrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from otel_fastpath.patching.patch import Row
    from otel_fastpath.settings import Config


@functools.cache
def wrappers() -> tuple[Wrapper, ...]:
    """Every wrapper, in the order of the status."""
    # Loaded when instrumenting, not before.
    from otel_fastpath.libraries.db import asyncpg  # noqa: PLC0415
    from otel_fastpath.libraries.genai import openai  # noqa: PLC0415

    modules: tuple[Any, ...] = (asyncpg, openai)
    return tuple(Wrapper(module.LIBRARY) for module in modules)


def install(settings: Config, off: Callable[[str], str | None], providers: Mapping[str, Any]) -> None:
    """Put every wrapper in place, unless the settings leave it off.

    Args:
        settings: What is on.
        off: Why the patch of this name is left off; None: it is on.
        providers: The keyword arguments of `instrument()`; of them `tracer_provider`, `meter_provider` and
            `logger_provider`.
    """
    for wrapper in wrappers():
        wrapper.install(settings, off, providers)


def uninstall() -> None:
    """Take every wrapper off."""
    for wrapper in reversed(wrappers()):
        wrapper.uninstall()


def status() -> list[Row]:
    """What became of every wrapper's patches."""
    return [row for wrapper in wrappers() for row in wrapper.status()]


def need_gil() -> frozenset[str]:
    """The names of the patches that rest on the global interpreter lock."""
    return frozenset(patch.name for wrapper in wrappers() for patch in wrapper.library.patches if patch.needs_gil)
