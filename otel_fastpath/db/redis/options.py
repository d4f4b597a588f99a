"""The options of the redis wrapper: OTEL_FASTPATH_REDIS_OPTIONS, `instrument(redis_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from otel_fastpath.db import options

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class RedisOptions(options.DatabaseOptions):
    """The options: those of every database that mean something for commands."""

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        name: options.DatabaseOptions.names[name] for name in ("no-metrics", "parameters")
    }
