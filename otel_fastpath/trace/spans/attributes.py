"""Cleaning attributes in one pass. Plain Python; compiled as `attributes_c`.

Primitive values, sequences of one primitive type and lazy values are handled here; every other value is cleaned by
stock's own code, which also logs the warnings.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import maxsize
from types import MappingProxyType
from typing import TYPE_CHECKING

from opentelemetry.attributes import BoundedAttributes

from otel_fastpath.compiled.helpers import plain_copy
from otel_fastpath.lazy import DROPPED, FAILED, Lazy
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from opentelemetry.util import types


# Returned instead of a value or mapping that only stock's own code can clean.
LEAVE: dict[str, object] = object()  # type: ignore[assignment]  # compared by identity only


def frozen(key: str, value: Any, longest: int, clean: Callable[[object, int | None], object] | None) -> object:
    """The value as it is stored under this key, or `LEAVE`. Sequences of one primitive type are the common case."""
    kind = type(value)
    if kind is str and len(value) <= longest:
        return value
    if kind is int or kind is bool or kind is float:
        return value
    if kind is list or kind is tuple:
        if not value:
            return ()
        kind = type(value[0])
        if kind is str or kind is int or kind is float or kind is bool:
            for item in value:
                if type(item) is not kind or (kind is str and len(item) > longest):
                    break
            else:
                return tuple(value)
    if isinstance(value, Lazy):
        return Lazy(_make_and_clean, (key, value, longest, clean), {})
    if clean is None:
        return LEAVE
    return clean(value, None if longest == maxsize else longest)


def _make_and_clean(key: str, lazy: Lazy, longest: int, clean: Callable[[object, int | None], object] | None) -> object:
    """Make a lazy value and clean it as any other value is cleaned, or return `DROPPED`."""
    value = lazy.value()
    if value is FAILED:
        return value
    if clean is None:
        # Before 1.45, only stock's container cleans values; its warnings name the key.
        container = BoundedAttributes(attributes={key: value}, max_value_len=None if longest == maxsize else longest)
        return container.get(key, DROPPED)
    return clean(value, None if longest == maxsize else longest)


def made(attributes: types.Attributes, recording: bool) -> types.Attributes:
    """The attributes for stock's own code, with every lazy value made; None instead if the span is not recording."""
    try:
        if not isinstance(attributes, Mapping):
            return attributes
        # Not a generator expression: in compiled code, each one that runs leaks a reference to its type.
        for value in attributes.values():
            if isinstance(value, Lazy):
                break
        else:
            return attributes
        return {
            key: (value.value() if recording else None) if isinstance(value, Lazy) else value
            for key, value in attributes.items()
        }
    except Exception as error:
        faults.raise_interruption(error)
        # Stock's code handles a broken mapping.
        return attributes


def clean_mapping(
    attributes: Mapping[str, object], longest: int, clean: Callable[[object, int | None], object] | None, room: int
) -> dict[str, object]:
    """The attributes as a new dict of cleaned values, or `LEAVE`.

    If there is no room for all of them, none is cleaned here: stock's code does it, and cleaning twice would warn
    twice.
    """
    if type(attributes) is not dict:
        if type(attributes) is not MappingProxyType:
            return LEAVE
        try:
            # Faster than `dict(attributes)` for the proxy of a dict.
            attributes = attributes.copy()
        except Exception as error:
            faults.raise_interruption(error)
            # A proxy may wrap an object that is not a mapping.
            return LEAVE
        if type(attributes) is not dict:
            return LEAVE
    kept = plain_copy(attributes, longest)
    if kept is not None:
        return kept
    if len(attributes) > room:
        return LEAVE
    for key in attributes:
        if type(key) is not str or not key:
            return LEAVE
    kept = {}
    for key, value in attributes.items():
        cleaned = frozen(key, value, longest, clean)
        if cleaned is LEAVE:
            return LEAVE
        kept[key] = cleaned
    return kept
