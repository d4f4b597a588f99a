"""The plans of the drivers of the DB-API (PEP 249): texts with placeholders, and the official instruments."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.libraries.db import plans
from otel_fastpath.libraries.db.dbapi.official import Official

if TYPE_CHECKING:
    from otel_fastpath.libraries.call import Series
    from otel_fastpath.libraries.db.conventions import Query

# What a driver reads in a query to which parameters are passed. The names may be words of SQL.
_PLACEHOLDER: Final = re.compile(r"%\([^)]*\)[sbt]|%[sbt]")


class Plans(plans.Plans):
    """The plans for one server and database."""

    __slots__ = ()

    def read(self, text: Any, has_arguments: bool) -> Query:
        """Read a text, once; a placeholder is read as a parameter."""
        if not has_arguments or "%" not in text:
            return super().read(text, has_arguments)
        plain = _PLACEHOLDER.sub("$1", text)
        found = super().read(plain, has_arguments=True)
        return replace(found, raw=text, text=text if found.text == plain else found.text)

    def is_kept(self, text: Any) -> bool:
        """Whether the text is likely to be used again, with the same attributes."""
        convention = self.active.convention
        return super().is_kept(text) and (not isinstance(convention, Official) or convention.is_stock())

    def _measures(self, query: Query, prefix: str) -> tuple[Series | None, Any]:
        convention = self.active.convention
        own = convention.measures(query, self.server) if isinstance(convention, Official) else None
        return own if own and self.active.is_same else super()._measures(query, prefix)
