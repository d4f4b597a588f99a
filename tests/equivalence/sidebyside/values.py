"""Hypothesis strategies for what a caller may pass."""

from __future__ import annotations

import decimal
import enum
from collections import OrderedDict, UserDict, UserList, deque
from types import MappingProxyType
from typing import Any

from hypothesis import strategies as st


class Text(str):
    """A str subclass."""

    __slots__ = ()


class Number(int):
    """An int subclass."""


class Colour(enum.IntEnum):
    """An enum of ints."""

    RED = 1


class Word(str, enum.Enum):  # StrEnum came with 3.11
    """An enum of strs."""

    YES = "yes"


class Plain(enum.Enum):
    """An enum of neither."""

    ONE = 1


class WithText:
    """Has a __str__."""

    def __str__(self) -> str:
        """Its text."""
        return "with text"


class WithRepr:
    """Has a __repr__."""

    def __repr__(self) -> str:
        """Its text."""
        return "with repr"


class Bare:
    """Has neither."""


class Failing:
    """Its text cannot be had."""

    def __str__(self) -> str:
        """Its text."""
        raise ValueError("no text for you")

    def __repr__(self) -> str:
        """Its text."""
        return "failing"


class Undecided:
    """Its truth cannot be had."""

    def __bool__(self) -> bool:
        """Fails."""
        raise ValueError("neither true nor false")

    def __repr__(self) -> str:
        """Its text."""
        return "undecided"

    def __hash__(self) -> int:
        """For dicts."""
        return 1


def short(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The same, with a short repr: hypothesis writes out all that a strategy is built of."""

    @st.composite
    def drawn(draw: Any) -> Any:
        return draw(strategy)

    return drawn()


_KEYS = ("a", "b", "c", "d", "e", "f")
_OBJECTS = (WithText(), WithRepr(), Bare(), Failing(), decimal.Decimal("1.5"), {"s"}, 1j, len, deque([1]))
_SUBCLASSES = (Text("sub"), Number(7), Colour.RED, Word.YES, Plain.ONE, Text(""), True)

keys = st.one_of(
    st.sampled_from(_KEYS),
    st.sampled_from(_KEYS),
    st.sampled_from(_KEYS),
    st.sampled_from(["", "a" * 30, "ключ", Text("a"), Word.YES]),
)
odd_keys = st.sampled_from(
    [None, 0, 1, True, b"a", 1.5, ("a",), _OBJECTS[0], _OBJECTS[2], Colour.RED, Undecided(), float("nan")]
)
_numbers = st.one_of(
    st.integers(-5, 5),
    st.sampled_from([2**63 - 1, 2**63, -(2**63) - 1, 10**40]),
    st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), -float("inf"), 1e-320]),
)
_texts = st.one_of(
    st.sampled_from(["", "x", "value", "a longer value than that", "\ud800", "\x00", "\U0001f600 smile"]),
    st.text(max_size=8),
)
_simple = st.one_of(_texts, _numbers, st.booleans())
_odd = st.one_of(
    st.none(),
    st.binary(max_size=4),
    st.sampled_from(_SUBCLASSES),
    st.sampled_from(_OBJECTS),
    st.sampled_from([bytearray(b"xy"), memoryview(b"xy"), range(3)]),
)
_lists = st.one_of(
    st.lists(_texts, max_size=3),
    st.lists(st.integers(-2, 2), max_size=3),
    st.lists(st.booleans(), max_size=3),
    st.lists(st.floats(allow_nan=False, width=16), max_size=3),
    st.lists(_simple, max_size=3),
).flatmap(lambda items: st.sampled_from([items, tuple(items), UserList(items)]))


def _nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.lists(children, max_size=3),
        st.lists(children, max_size=3).map(tuple),
        st.dictionaries(st.one_of(keys, odd_keys), children, max_size=3),
    )


_any = st.one_of(_simple, _simple, _simple, _lists, _odd, st.recursive(st.one_of(_simple, _odd), _nested, max_leaves=5))
values = short(_any)


def _contained(given: dict[Any, Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(
        [
            given,
            given,
            given,
            MappingProxyType(given),
            UserDict(given),
            OrderedDict(given),
            MappingProxyType(UserDict(given)),
        ]
    )


_tidy = st.dictionaries(keys, _simple, max_size=7)
_any_mapping = st.one_of(
    _tidy,
    _tidy,
    st.dictionaries(keys, values, max_size=5),
    st.dictionaries(st.one_of(keys, odd_keys), values, max_size=4),
    st.dictionaries(keys, values, max_size=3).flatmap(_contained),
)
mappings = short(_any_mapping)
# Whatever else may stand where attributes are expected.
_any_attributes = st.one_of(st.none(), mappings, mappings, mappings, st.sampled_from([(), [], [("a", 1)], "ab", 5, {}]))
attributes = short(_any_attributes)
names = st.sampled_from(["a", "b", "c", "drop", "record", "", "имя", None, 5])
times = st.one_of(st.none(), st.none(), st.integers(1, 2_000_000_000_000_000_000), st.just(0))
descriptions = st.one_of(st.none(), st.sampled_from(["", "bad", 5, Text("sub")]))
