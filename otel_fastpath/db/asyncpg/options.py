"""The options of the asyncpg wrapper: OTEL_FASTPATH_ASYNCPG_OPTIONS, `instrument(asyncpg_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from otel_fastpath.db import options

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class AsyncpgOptions(options.DatabaseOptions):
    """The options.

    Attributes:
        acquire: Waiting for a connection of a pool is a span.
        reset: The query by which a connection is reset when it returns to its pool is a span.
    """

    acquire: bool = False
    reset: bool = False

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        **options.DatabaseOptions.names,
        "acquire": ("acquire", True),
        "reset": ("reset", True),
    }
