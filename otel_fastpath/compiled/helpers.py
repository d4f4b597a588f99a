"""What C does better than Python: each function has a C form of the same meaning in `helpers_c.pxd`.

A hot module imports these as it imports anything. The build turns the import into one of the C forms.
"""

from __future__ import annotations

import operator
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import TypeVar

    _M = TypeVar("_M", bound=dict[str, object])

# An instance of a class, of which no constructor has run.
new_instance = object.__new__
process_id = os.getpid
# An item of a tuple, by number. The tuple's class may inherit from `tuple`, for which C has no quick way of its own.
item = operator.getitem
# What a context variable that has a default holds; have it hold something else; undo that.
get_value = ContextVar.get
set_value = ContextVar.set
reset_value = ContextVar.reset


def read_clock(module: dict[str, Callable[[], int]]) -> int:
    """Nanoseconds since the epoch, by the `time_ns` in a module's globals: tests put another clock there."""
    return module["time_ns"]()


def current_value(variable: ContextVar[_M], key: str) -> object:
    """What the mapping that a context variable holds has for the key, or None."""
    return variable.get().get(key)


def with_value(kind: type[_M], mapping: _M | None, key: str, value: object) -> _M:
    """A new mapping of this kind, of what the mapping (None: nothing) holds and this value for the key."""
    return kind({**mapping, key: value}) if mapping else kind({key: value})


def set_with_value(variable: ContextVar[_M], kind: type[_M], key: str, value: object) -> Token[_M]:
    """Have a context variable hold `with_value` of what it holds; gives the token that undoes it."""
    return variable.set(kind({**variable.get(), key: value}))


def plain_copy(attributes: dict[str, Any], longest: int) -> dict[str, object] | None:
    """A copy of attributes that are kept as they are; None where one of them has to be looked at.

    Those are under texts that are not empty, and of a primitive type; no text is longer than allowed.
    """
    for key, value in attributes.items():
        kind = type(value)
        if type(key) is not str or not key:
            return None
        if kind is str:
            if len(value) > longest:
                return None
        elif kind is not int and kind is not bool and kind is not float:
            return None
    return attributes.copy()


def attribute_key(attributes: dict[str, object]) -> tuple[object, ...]:
    """What attributes are found by: their keys, values and types of values, because True, 1 and 1.0 are equal."""
    return (*attributes.items(), *map(type, attributes.values()))
