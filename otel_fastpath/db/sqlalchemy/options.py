"""The options of the SQLAlchemy wrapper: OTEL_FASTPATH_SQLALCHEMY_OPTIONS, `instrument(sqlalchemy_options=...)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from otel_fastpath.db import options

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class SqlAlchemyOptions(options.DatabaseOptions):
    """The options.

    Attributes:
        acquire: Waiting for a connection of a pool is a span.
        drivers: If the driver has a wrapper of ours that is on, its spans are made, and none of SQLAlchemy.
    """

    acquire: bool = False
    drivers: bool = False

    names: ClassVar[Mapping[str, tuple[str, bool]]] = {
        **options.DatabaseOptions.names,
        "acquire": ("acquire", True),
        "drivers": ("drivers", True),
    }
