"""Attributes as they are kept: checked in one pass. Plain Python; compiled as `attributes_c`.

Values of the primitive types, sequences of one of them and lazy values are kept here; every other is cleaned by
upstream's own code, which is also where the warnings come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import maxsize
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opentelemetry.attributes import BoundedAttributes

from otel_fastpath.lazy import DROPPED, FAILED, Lazy

if TYPE_CHECKING:
    from otel_fastpath.compiled.capi import *

# In the compiled twin COMPILED is a constant 1 of `compiled/capi.pxd`, which also defines the c_ functions.
globals().setdefault("COMPILED", False)
# Types whose values are kept as they are.
PLAIN = frozenset({str, int, float, bool})
_NO_TEXT = PLAIN - {str}
# Returned in the place of a value or mapping that only upstream's own code can clean.
LEAVE = object()


def frozen(key: Any, value: Any, longest: Any, clean: Any) -> Any:
    """The value as it is kept under this key, or `LEAVE`. Sequences of one primitive type are the common case."""
    if type(value) is str and len(value) <= longest:
        return value
    if type(value) is list or type(value) is tuple:
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
        return Lazy(_cleaned, (key, value, longest, clean), {})
    if clean is None:
        return LEAVE
    return clean(value, None if longest == maxsize else longest)


def _cleaned(key: Any, lazy: Any, longest: Any, clean: Any) -> Any:
    """The lazy value as one given at once is kept, or `DROPPED`."""
    value = lazy.value()
    if value is FAILED:
        return value
    if clean is None:
        # Before 1.45 only upstream's container cleans; it warns by the key.
        container = BoundedAttributes(attributes={key: value}, max_value_len=None if longest == maxsize else longest)
        return container.get(key, DROPPED)
    return clean(value, None if longest == maxsize else longest)


def made(attributes: Any, recording: Any) -> Any:
    """The attributes with every lazy value made, for upstream's own code; not for a span that drops them."""
    try:
        if not isinstance(attributes, Mapping):
            return attributes
        # No generator: each that runs in compiled code takes a reference to its type that is never given back.
        for value in attributes.values():
            if isinstance(value, Lazy):
                break
        else:
            return attributes
        return {
            key: (value.value() if recording else None) if isinstance(value, Lazy) else value
            for key, value in attributes.items()
        }
    except Exception:
        # What is no mapping or a broken one is upstream's to meet.
        return attributes


def clean_mapping(attributes: Any, longest: Any, clean: Any, room: Any) -> Any:
    """The attributes as a new dict of values as they are kept, or `LEAVE`.

    More than there is room for are not cleaned: upstream's code does it then, and cleaning twice would warn twice.
    """
    if type(attributes) is not dict:
        if type(attributes) is not MappingProxyType:
            return LEAVE
        try:
            attributes = dict(attributes)
        except Exception:
            # There are proxies of what is no mapping.
            return LEAVE
    if COMPILED:
        if c_is_plain(attributes, longest):
            return c_copy(attributes)
    elif longest == maxsize and "" not in attributes:
        # What is all plain, as nearly everything is, in as few steps as possible.
        text, types = str, PLAIN
        for key, value in attributes.items():
            if type(key) is not text or (type(value) is not text and type(value) not in types):
                break
        else:
            return attributes.copy()
    if "" in attributes:
        return LEAVE
    plain = True
    as_is = PLAIN if longest == maxsize else _NO_TEXT
    for key in attributes:
        if type(key) is not str:
            return LEAVE
        value = attributes[key]
        if type(value) not in as_is:
            if type(value) is not str:
                plain = False
            elif len(value) > longest:
                return LEAVE
    if plain:
        return attributes.copy()
    if len(attributes) > room:
        return LEAVE
    kept = {}
    for key, value in attributes.items():
        cleaned = value if type(value) in PLAIN else frozen(key, value, longest, clean)
        if cleaned is LEAVE:
            return LEAVE
        kept[key] = cleaned
    return kept
