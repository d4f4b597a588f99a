"""What this package's code rests on: attributes of other packages' objects that nobody has replaced.

The compiled form, `facts_c.pyx`, does not look at them again until CPython reports a change.
"""

from __future__ import annotations

from operator import is_, itemgetter
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The value of an attribute that an instance does not have itself. Its class may have it.
ABSENT: Final = object()
_FEW: Final = 3


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
        names: dict[str, object] = {"all": all, "is_": is_, "map": map}
        terms = []
        groups: dict[int, list[tuple[object, str, object]]] = {}
        for item in self.items:
            is_in_module = isinstance(item[0], ModuleType) and item[2] is not ABSENT
            groups.setdefault(id(item[0]) if is_in_module else -1, []).append(item)
        # Many of one module are looked up by one call.
        rest = [item for key, group in groups.items() if key < 0 or len(group) <= _FEW for item in group]
        for number, group in enumerate(each for key, each in groups.items() if key >= 0 and len(each) > _FEW):
            names[f"module_{number}"] = vars(group[0][0])
            names[f"get_{number}"] = itemgetter(*[name for _, name, _ in group])
            names[f"values_{number}"] = tuple(value for _, _, value in group)
            terms.append(f"all(map(is_, get_{number}(module_{number}), values_{number}))")
        for number, (owner, name, value) in enumerate(rest):
            is_absent = value is ABSENT
            names[f"owner_{number}"] = vars(owner) if is_absent else owner
            names[f"value_{number}"] = value
            terms.append(f"{name!r} not in owner_{number}" if is_absent else f"owner_{number}.{name} is value_{number}")
        self.hold: Callable[[], bool] = eval(f"lambda: {' and '.join(terms) or True}", names)  # noqa: S307  # see above


def is_true(facts: Facts) -> bool:
    """What `Facts.hold` returns, for code that is not hot: the compiled form of that cannot be called from Python."""
    return all(
        (name not in vars(owner)) if value is ABSENT else (getattr(owner, name, ABSENT) is value)
        for owner, name, value in facts.items
    )
