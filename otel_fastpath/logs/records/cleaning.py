"""Attributes of log records with values that stock cleans. Plain Python; compiled as `cleaning_c`.

Stock asks of each value, also inside of others, whether it is of an abstract class: 5,000 instructions for a dict in a
list. Dicts, lists and tuples of common values are walked here; any other value is cleaned by stock's function, which
also logs the warnings.
"""

from __future__ import annotations

from sys import maxsize
from typing import TYPE_CHECKING

from opentelemetry import attributes as _attributes_api

if TYPE_CHECKING:
    from typing import Any

_attributes_globals = vars(_attributes_api)
# Types of values that are stored unchanged, besides strings that are not too long.
_ATOMS = frozenset({int, bool, float, bytes, type(None)})
# Deeper values are left to stock, and so are those that contain themselves.
_DEEPEST = 24
# Before 1.45, log records had a function of their own for values that cannot be stored as they are.
_CLEANS_BY_KEY = "_clean_extended_attribute" in _attributes_globals


def clean_attributes(attributes: dict[str, Any], longest: int) -> dict[str, object]:
    """The attributes with the values that stock's function makes of those that cannot be stored as they are."""
    kept: dict[str, object] = {}
    for key, value in attributes.items():
        if not _CLEANS_BY_KEY:
            kept[key] = _cleaned(value, longest, 0)
        elif len(value) <= longest if type(value) is str else type(value) in _ATOMS:
            kept[key] = value
        else:
            kept[key] = _attributes_globals["_clean_extended_attribute"](key, value, _most(longest))
    return kept


def _cleaned(value: Any, longest: int, depth: int) -> object:
    kind = type(value)
    if kind is str:
        if len(value) <= longest:
            return value
    elif kind in _ATOMS:
        return value
    elif depth < _DEEPEST:
        if kind is list or kind is tuple:
            return tuple([_cleaned(each, longest, depth + 1) for each in value])
        if kind is dict and _has_usual_keys(value):
            return _cleaned_items(value, longest, depth + 1)
    return _attributes_globals["_clean_attribute_value"](value, _most(longest))


def _has_usual_keys(mapping: dict[object, object]) -> bool:
    """Whether stock would keep all keys as they are."""
    for key in mapping:  # noqa: SIM110  # a generator takes longer
        if type(key) is not str or not key:
            return False
    return True


def _cleaned_items(mapping: dict[object, object], longest: int, depth: int) -> dict[object, object]:
    made: dict[object, object] = {}
    for key, value in mapping.items():
        made[key] = _cleaned(value, longest, depth)
    return made


def _most(longest: int) -> int | None:
    """The longest text, as stock's functions take it."""
    return None if longest == maxsize else longest
