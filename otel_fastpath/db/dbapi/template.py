"""The attributes that stock's `CursorTracer._populate_span` sets: made once for a server, but for the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from otel_fastpath.compiled.facts import Facts
from otel_fastpath.db.stand_ins import CollectedAttributes
from otel_fastpath.patching.sources.known import Known
from otel_fastpath.patching.stock import UNKNOWN, Reached, Stock

TRACER: Final = "opentelemetry.instrumentation.dbapi:CursorTracer"
# What the patches of it rest on.
STOCK: Final = Reached([f"{TRACER}.traced_execution"])
KNOWN: Final = Known(Path(__file__).with_name("sources.json"))
_STOCK: Final = "opentelemetry."
# Stands for a text: stock stores the same object, which is no other attribute's value.
_ANY_TEXT: Final = "-- the text of a query"


class Template:
    """The attributes of one server.

    Args:
        tracer: Stock's `CursorTracer` for connections to the server.
        other: One for another server with the same class of tracers.
    """

    __slots__ = ("_made", "_rests_on", "_tracer")

    def __init__(self, tracer: Any, other: Template | None = None) -> None:
        self._tracer = tracer
        self._made: tuple[dict[str, Any], tuple[str, ...]] | None = None
        self._rests_on: tuple[Stock | None, Facts] = _rests_on(type(tracer)) if other is None else other._rests_on

    def of(self, text: str) -> dict[str, Any]:
        """The attributes for a text."""
        stock, facts = self._rests_on
        if not text or stock is None or not (facts.hold() or stock.holds_again(facts)):
            return self._populated(text)
        if self._made is None:
            attributes = self._populated(_ANY_TEXT)
            self._made = attributes, tuple(key for key, value in attributes.items() if value is _ANY_TEXT)
        attributes, keys = self._made
        found = attributes.copy()
        for key in keys:
            found[key] = text
        return found

    def _populated(self, text: str) -> dict[str, Any]:
        found = CollectedAttributes()
        self._tracer._populate_span(found, None, text)
        return dict(found)


def _rests_on(kind: Any) -> tuple[Stock | None, Facts]:
    """The functions of stock that are called once, not for each text; None: the class is not stock's own."""
    facts = Facts(UNKNOWN)
    if not kind.__module__.startswith(_STOCK) or kind.__name__ != kind.__qualname__:
        return None, facts
    sources = {}
    for name in ("_populate_span", "get_statement"):
        method = getattr(kind, name)
        # A subclass may inherit it.
        defined = f"{getattr(method, '__module__', '')}:{getattr(method, '__qualname__', '')}"
        sources[f"{kind.__module__}:{kind.__name__}.{name}"] = KNOWN.sources(defined)[defined]
    return Stock(None, KNOWN, sources), facts
