"""What stock finds the aggregation of a set of attributes by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.metrics._internal import _view_instrument_match as _matches

if TYPE_CHECKING:
    from collections.abc import Callable


def stored_under() -> Callable[[dict[str, Any]], Any]:
    """The function that makes the key of stock's dict of aggregations from clean attributes."""
    hashed = getattr(_matches, "_hash_attributes", None)
    if hashed is None:
        # Until 1.44.
        return lambda attributes: frozenset(attributes.items())

    def short(attributes: dict[str, Any]) -> Any:
        items = sorted(attributes.items()) if len(attributes) > 1 else attributes.items()
        return "mapping", tuple([(key, (type(value).__name__, value)) for key, value in items])

    probe = {"b": "x", "a": 1, "d": True, "c": 1.5}
    return short if short(probe) == hashed(probe) and short({}) == hashed({}) else hashed
