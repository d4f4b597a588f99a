"""What the libraries for SQLite share: how its texts are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otel_fastpath.compiled import hot

if TYPE_CHECKING:
    from collections.abc import Callable

    from otel_fastpath.db.conventions import QueryText


def read(text: Any, has_arguments: bool, read_whole: Callable[[Any, bool], QueryText]) -> QueryText:
    """Read a text of SQLite, where double quotes enclose a string if there is no column of that name."""
    found = read_whole(text, has_arguments)
    if '"' not in found.text or (has_arguments and found.text == text):
        return found

    # The summary has the names of tables, which cannot be values.
    found.text = hot.db_queries_sql.without_quoted(found.text, found.summary)
    return found
