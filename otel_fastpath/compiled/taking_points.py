"""Takes the fields of data points out of stock's aggregations; the C forms are in `taking_points_c.pxd`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeVar

    _Kind = TypeVar("_Kind")

_new = object.__new__


class _Setters(dict[type, Any]):
    """Sets the `__dict__` of an instance: one for each of a few classes."""

    def __missing__(self, kind: type) -> Any:
        setter = self[kind] = vars(kind)["__dict__"].__set__
        return setter


_setters = _Setters()


def take_histogram(
    state: dict[str, Any],  # noqa: ARG001  # for the C form, as all others
    lock_type: type,  # noqa: ARG001
    usual: dict[str, None],  # noqa: ARG001
    start: int,  # noqa: ARG001
) -> dict[str, Any] | None:
    """Add the measurements of a histogram to those of earlier collections, without its lock.

    Only code in C is alone as long as it calls nothing. So this one does nothing.

    Args:
        state: The aggregation's `__dict__`.
        lock_type: The type of locks that nothing but the interpreter's threads wait for.
        usual: The names of the point's fields.
        start: When the collection began.

    Returns:
        The fields of the point but its exemplars; None if nothing was done, as another thread holds the lock or there
        are other values than usual.
    """
    return None


def take_sum(
    state: dict[str, Any],  # noqa: ARG001
    lock_type: type,  # noqa: ARG001
    usual: dict[str, None],  # noqa: ARG001
    start: int,  # noqa: ARG001
) -> dict[str, Any] | None:
    """The same for the sum of a synchronous instrument."""
    return None


def with_fields(kind: type[_Kind], fields: dict[str, Any]) -> _Kind:
    """An instance of a dataclass, which may be frozen, that has these fields: the dict is its `__dict__`."""
    made = _new(kind)
    _setters[kind](made, fields)
    return made
