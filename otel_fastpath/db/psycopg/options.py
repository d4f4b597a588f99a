"""The options of the psycopg wrapper: OTEL_FASTPATH_PSYCOPG_OPTIONS, `instrument(psycopg_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from otel_fastpath.db import options

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class PsycopgOptions(options.DatabaseOptions):
    """The options.

    Attributes:
        acquire: Waiting for a connection of a pool is a span.
        check: The empty query by which a pool checks a connection is a span.
    """

    acquire: bool = False
    check: bool = False

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        **options.DatabaseOptions.names,
        "acquire": ("acquire", True),
        "check": ("check", True),
    }
