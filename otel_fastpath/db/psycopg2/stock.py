"""The attributes, names and metrics of the stock instrumentation, which ours replaces."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.db.dbapi import stock
from otel_fastpath.db.derived import is_derived

if TYPE_CHECKING:
    from otel_fastpath.wrapping.library import Setup

_STOCK: Final = "opentelemetry.instrumentation.psycopg2"


def given_keywords(_instrumentor: Any) -> dict[str, Any]:
    """The keyword arguments that the stock instrumentor was given."""
    return stock.given_keywords(sys.modules["psycopg2"].connect)


class StockConventions(stock.StockConventions):
    """What the stock instrumentation emits, under its own scope."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup, _STOCK, "psycopg2")


def make_untraced(original: Any) -> Any:
    """Wrap the stock instrumentation's own wrapper of a cursor's methods, which calls ours if the cursor is ours."""

    @functools.wraps(original)
    def traced_execution(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and is_derived(type(args[1])) and not stock.is_by_stock(args):
            _, _, method, *rest = args
            return method(*rest, **kwargs)
        return original(*args, **kwargs)

    return traced_execution
