"""What is recorded of the parameters of a query; for the option `slow`, text of a size that does not depend on theirs.

Only values of Python's own types and of their subclasses are made into text, by the methods of Python's types: no code
of the application runs. `bytes` are shown as Python writes them, not decoded. Of any other value, the type is shown.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from otel_fastpath.db.conventions import LONGEST_PARAMETER, UNREADABLE
from otel_fastpath.patching import faults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The size of a batch whose parameter sets cannot be counted without consuming them.
UNKNOWN: Final = -1
# Sizes of batches that are no attribute.
_NOT_RECORDED: Final = frozenset({UNKNOWN, 1})
# The attribute of a slow query.
SLOW: Final = "otel_fastpath.db.slow"
_MOST_PARAMETERS: Final = 32
_LONGEST_NAME: Final = 64
# How many levels of containers are shown.
_DEEPEST: Final = 3
# The size in memory, in bytes, up to which a value is made into text as a whole.
_LARGEST: Final = 512
_CUT: Final[frozenset[Any]] = frozenset({str, bytes, bytearray})
_WHOLE: Final[dict[Any, Callable[[Any], str]]] = {
    type(None): repr,
    bool: repr,
    int: int.__repr__,
    float: float.__repr__,
    complex: complex.__repr__,
    Decimal: Decimal.__str__,
    datetime: lambda value: datetime.isoformat(value, " "),
    date: date.isoformat,
    time: time.isoformat,
    timedelta: timedelta.__str__,
    UUID: UUID.__str__,
}
_CONTAINERS: Final[dict[Any, str]] = {list: "[]", tuple: "()", dict: "{}", set: "{}", frozenset: "{}"}
# A subclass comes before the class: bool and int, datetime and date.
_KNOWN: Final[tuple[Any, ...]] = (*_CUT, *_WHOLE, *_CONTAINERS)


def put_slow(span: Any, parameters: Any) -> None:
    """Set the attributes of a slow query."""
    span.set_attributes({SLOW: True, **attributes_of(parameters)})


def attributes_of(parameters: Any) -> dict[str, str]:
    """The attributes of the stable conventions for at most 32 parameters, each at most 256 characters long.

    Args:
        parameters: A list or tuple, whose positions are the keys; a dict; or a single parameter. None: there are none.
    """
    if parameters is None:
        return {}
    base = _base_of(type(parameters))
    given: Iterable[tuple[Any, Any]] = ((0, parameters),)
    if base is dict:
        given = _first(dict.items(parameters), _MOST_PARAMETERS)
    elif base is list or base is tuple:
        given = enumerate(_first(base.__iter__(parameters), _MOST_PARAMETERS))
    return {f"db.query.parameter.{text_of(key)[:_LONGEST_NAME]}": text_of(value) for key, value in given}


def put_parameters(call: Any, connection_plan: Any, parameters: Any, size: int | None) -> None:
    """Set a recording query's attributes for its batch size and, if that option is set, its parameters.

    With the option `slow`, the parameters are kept until the query ends.

    Args:
        call: The query.
        connection_plan: The connection's `ConnectionPlan`.
        parameters: The query's parameters, or a batch's arguments after the text; None: they are not recorded.
        size: The number of parameter sets of a batch, or UNKNOWN; None: it is not a batch.
    """
    if size is not None and size not in _NOT_RECORDED and not connection_plan.active.is_same:
        call.span.set_attribute("db.operation.batch.size", size)
    if call.is_timed and size is None:
        call.parameters = parameters
    if parameters is not None and connection_plan.active.captures:
        convention = connection_plan.active.convention
        made = convention.parameters if size is None else convention.batch_parameters
        call.span.set_attributes(made(parameters))


def has_any(parameters: Any) -> bool:
    """Whether a query has parameters. Never raises: an object of the application that does counts as some."""
    try:
        return bool(parameters)
    except Exception as error:
        faults.raise_interruption(error)
        return True


def text_of(value: Any) -> str:
    """A value as text of at most 256 characters. Never raises."""
    try:
        if issubclass(type(value), str):
            return str.__getitem__(value, slice(LONGEST_PARAMETER))
        return _written(value, LONGEST_PARAMETER, _DEEPEST)[:LONGEST_PARAMETER]
    except Exception as error:
        faults.raise_interruption(error)
        # For example, a time zone of the application's own may raise.
        return UNREADABLE


def _base_of(kind: type) -> Any:
    """The type of Python's own that this is, or is a subclass of; None: there is none."""
    return next((base for base in _KNOWN if issubclass(kind, base)), None)


def _written(value: Any, room: int, depth: int) -> str:
    """A value as Python writes it, about as long as there is room."""
    kind = type(value)
    base = _base_of(kind)
    if base in _CUT:
        return repr(base.__getitem__(value, slice(room)))
    if base in _WHOLE and base.__sizeof__(value) <= _LARGEST:
        return _WHOLE[base](value)
    if base in _CONTAINERS and depth:
        is_dict = base is dict
        items = _first(dict.items(value) if is_dict else base.__iter__(value), room)
        ends = _CONTAINERS[base]
        return f"{ends[0]}{_joined(items if is_dict else [(each,) for each in items], room, depth - 1)}{ends[1]}"
    return f"<{kind.__module__}.{kind.__qualname__}>"


def _first(items: Iterable[Any], most: int) -> list[Any]:
    """The first items of a container, in one step: another thread may change it."""
    return list(islice(items, most))


def _joined(items: list[tuple[Any, ...]], room: int, depth: int) -> str:
    """The items of a container, or its pairs of keys and values, until there is no room."""
    parts: list[str] = []
    for item in items:
        if room <= 0:
            break
        parts.append(": ".join(_written(part, room, depth) for part in item))
        room -= len(parts[-1]) + 2
    return ", ".join(parts)
