"""Helpers that are faster in C: each has an equivalent C form in `helpers_c.pxd`.

Hot modules import them with ordinary imports, which the build replaces by cimports of the C forms.
"""

from __future__ import annotations

import bisect
import operator
import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import TypeVar

    _M = TypeVar("_M", bound=dict[str, object])
    _T = TypeVar("_T")

# Whether `Facts.hold` costs less than a call of a short Python method.
HOLDS_CHEAPLY = False
# Creates an instance of a class without calling `__init__`.
new_instance = object.__new__
# Creates an instance of a subclass of `tuple` with these items, without calling that class's own `__new__`.
new_tuple = tuple.__new__
process_id = os.getpid
# The address of an object.
address = id
# An item of a tuple by index. The C form is also fast for subclasses of `tuple`, for which Cython has no fast path.
item = operator.getitem
# The value of a key, or None: what reads a dict that threads share. Without the interpreter lock, another thread may
# replace the value before Cython's form of `dict.get` has a reference to it.
get_item = dict.get
# The same for a mapping of a class that inherits from dict, and has its `get`.
value_of = dict.get
# Copies a dict in a critical section. Without the interpreter lock, CPython's `dict.copy` may take the dict's own lock
# twice, which leaves the section.
copied = dict.copy
# Stores a value also in a dict whose class forbids it.
set_item = dict.__setitem__
# Whether the second is an instance of the first, a class, or of a class that inherits from it. Not by registration.
is_instance = type.__instancecheck__
# Where to insert a value into a sorted sequence. The C form does without the call's parsing of arguments.
bisect_left = bisect.bisect_left
# Get and reset a context variable that has a default value.
get_value = ContextVar.get
reset_value = ContextVar.reset
# The nearest int, the even one of two; the C form takes a double and does without the call.
rounded: Callable[[float], int] = round


def is_free(is_locked: Callable[[], bool]) -> bool:  # noqa: ARG001  # for the C form
    """Whether nobody holds a lock, which stays so for C code that calls nothing and makes no container.

    Never in plain Python, and without the interpreter lock.

    Args:
        is_locked: The method `locked` of Python's own lock.
    """
    return False


def has_no_fields(instance: object) -> bool:
    """Whether an instance, of a class without `__slots__`, has no attributes of its own."""
    return not instance.__dict__


def add_to_sum(
    is_locked: Callable[[], bool],  # noqa: ARG001  # for the C form, as all others
    state: dict[str, Any],  # noqa: ARG001
    amount: float,  # noqa: ARG001
) -> bool:
    """Add to a metric's sum without taking its lock; False if that is not possible, and nothing was added.

    It never is in plain Python. The C form looks whether somebody holds the lock; it calls nothing that gives up the
    interpreter lock until the amount is added. Without the interpreter lock, it is not possible either.

    Args:
        is_locked: The method `locked` of Python's own lock.
        state: Has the sum under `_value`.
        amount: An int or a float.
    """
    return False


def add_to_histogram(
    is_locked: Callable[[], bool],  # noqa: ARG001  # for the C form, as all others
    state: dict[str, Any],  # noqa: ARG001
    amount: float,  # noqa: ARG001
    index: int,  # noqa: ARG001
    keeps_extremes: bool,  # noqa: ARG001
    made: list[int] | None,  # noqa: ARG001
) -> bool:
    """The same for a histogram.

    Args:
        is_locked: As for `add_to_sum`.
        state: Has the counts under `_value`, and `_sum`, `_min` and `_max`.
        amount: An int or a float.
        index: The bucket that the amount is in.
        keeps_extremes: Whether the histogram has minimum and maximum.
        made: Counts of zero, which are used if there are none since the last collection.
    """
    return False


def drop_finalizer(instance: object, plain: type) -> None:
    """Make it an instance of a base class that has no `__del__`, and the same fields.

    Plain Python would run signal handlers in it, whose exceptions reach nobody from there. The C form does nothing: a
    compiled `__del__` that finds nothing to do runs none.
    """
    instance.__class__ = plain


def read_clock(module: dict[str, Callable[[], int]]) -> int:
    """Nanoseconds since the epoch, from `time_ns` in a module's globals, which tests may replace."""
    return module["time_ns"]()


def current_value(variable: ContextVar[_M], key: str) -> object:
    """The value of a key in the mapping that a context variable holds, or None."""
    return variable.get().get(key)


def with_value(kind: type[_M], mapping: _M | None, key: str, value: object) -> _M:
    """A new mapping of this class with the items of the mapping (which may be None) and this key and value."""
    return kind({**mapping, key: value}) if mapping else kind({key: value})


def set_with_value(variable: ContextVar[_M], kind: type[_M], key: str, value: object) -> Token[_M]:
    """Set a context variable to its current mapping with this key and value; returns the token to reset it."""
    return set_value(variable, kind({**variable.get(), key: value}))


def set_value(variable: ContextVar[_T], value: _T) -> Token[_T]:
    """Set a context variable that has a default value; returns the token to reset it. If it raises, nothing was set."""
    before = variable.get()
    try:
        return variable.set(value)
    except BaseException:
        # Of a signal handler, after the value was set: there is no token.
        if variable.get() is value:
            variable.set(before)
        raise


def plain_copy(attributes: dict[str, Any], longest: int) -> dict[str, object] | None:
    """A copy of the attributes, or None if one of them must be cleaned or dropped.

    No cleaning is needed if all keys are non-empty strings, all values have a primitive type, and no string is longer
    than `longest`.
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


def has_keys(mapping: dict[str, object], other: dict[str, object]) -> bool:
    """Whether the mapping has all keys of the other one. Nobody else may use the two meanwhile."""
    return other.keys() <= mapping.keys()


def is_clean(attributes: dict[str, Any], longest: int) -> int:
    """1 if a log record's attributes can be stored as they are, 0 if values must be cleaned, -1 if a key is no text.

    A log record's attributes may also be bytes or None.
    """
    state = 1
    for key, value in attributes.items():
        if type(key) is not str or not key:
            return -1
        kind = type(value)
        if kind is str:
            if len(value) > longest:
                state = 0
        elif kind is not int and kind is not bool and kind is not float and value is not None and kind is not bytes:
            state = 0
    return state


def other_items(
    mapping: dict[str, Any],
    usual: tuple[str, ...],  # noqa: ARG001  # for the C form
    names: frozenset[str],
) -> dict[str, object] | None:
    """The items with other keys than these names, or None if there are none.

    Args:
        mapping: The items.
        usual: The keys that most mappings begin with, which are among the names. The C form compares these by identity.
        names: The names.
    """
    if mapping.keys() <= names:
        return None
    return {key: value for key, value in mapping.items() if key not in names}


def attribute_key(attributes: dict[str, object]) -> tuple[object, ...]:
    """A hashable key for attributes: keys, values, and the types of these, because True, 1 and 1.0 are equal."""
    return (*attributes, *attributes.values(), *map(type, attributes.values()))
