"""What this package's code rests on: attributes of other packages' objects that nobody has replaced.

The compiled form, `facts_c.pyx`, does not look at them again until CPython reports a change.
"""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The value of an attribute that an instance does not have itself. Its class may have it.
ABSENT: Final = object()


class Facts:
    """Attributes with their values.

    Args:
        items: The class, module or instance, the attribute's name, and its value. An instance has a `__dict__`.

    Attributes:
        hold: Returns whether every attribute still has its value.
    """

    __slots__ = ("hold", "items")

    def __init__(self, items: Iterable[tuple[object, str, object]]) -> None:
        self.renew(items)

    def renew(self, items: Iterable[tuple[object, str, object]]) -> None:
        """Hold these attributes from now on, of classes and modules only."""
        self.items = tuple(items)
        # One expression over fixed objects: the interpreter reads their attributes much faster than `getattr` does.
        names: dict[str, object] = {"is_same": is_same}
        terms = []
        for number, (owner, name, value) in enumerate(self.items):
            is_absent = value is ABSENT
            names[f"owner_{number}"] = vars(owner) if is_absent else owner
            names[f"value_{number}"] = value
            if is_absent:
                terms.append(f"{name!r} not in owner_{number}")
            elif type(value) is MethodType:
                terms.append(f"is_same(owner_{number}.{name}, value_{number})")
            else:
                terms.append(f"owner_{number}.{name} is value_{number}")
        self.hold: Callable[[], bool] = eval(f"lambda: {' and '.join(terms) or True}", names)  # noqa: S307  # see above


def is_same(found: object, value: object) -> bool:
    """Whether an attribute still has its value; a class method is bound again each time that it is read."""
    if found is value:
        return True
    if not (type(found) is MethodType and type(value) is MethodType):
        return False
    return found.__func__ is value.__func__ and found.__self__ is value.__self__


def is_true(facts: Facts) -> bool:
    """What `Facts.hold` returns, for code that is not hot: the compiled form of that cannot be called from Python."""
    for owner, name, value in facts.items:
        if (name in vars(owner)) if value is ABSENT else not is_same(getattr(owner, name, ABSENT), value):
            return False
    return True
