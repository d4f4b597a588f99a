"""What this package's code rests on: attributes of other packages' objects that nobody has replaced.

The compiled form, `facts_c.pyx`, does not look at them again until CPython reports a change.
"""

from __future__ import annotations

import functools
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# The value of an attribute that an instance does not have itself. Its class may have it.
ABSENT: Final = object()


class WatchedFact(tuple[object, str, object]):
    """A fact about a class or module that is looked at only where CPython reports changes, which costs nothing.

    Elsewhere (the pure core, Python 3.10 and 3.11), `Facts.hold` takes it for granted if it held at first; `is_true`
    does not.
    """

    __slots__ = ()


class Facts:
    """Attributes with their values.

    Args:
        items: The class, module or instance, the attribute's name, and its value. An instance has a `__dict__`.
            A `WatchedFact` is one of these, too.

    Attributes:
        hold: Returns whether every attribute still has its value.
        is_held: The same, for code that is not compiled.
        is_complete: Whether `hold` takes none of them for granted.
    """

    __slots__ = ("hold", "is_complete", "is_held", "items")

    def __init__(self, items: Iterable[tuple[object, str, object]]) -> None:
        self.renew(items)

    def renew(self, items: Iterable[tuple[object, str, object]]) -> None:
        """Hold these attributes from now on, of classes and modules only."""
        self.items = tuple(items)
        # Code over fixed objects: the interpreter reads their attributes much faster than `getattr` does. Each fact is
        # a statement of its own, because one long expression has twice the bytecodes.
        names: dict[str, Any] = {"is_same": is_same}
        lines = ["def hold():"]
        looked_at = [each for each in self.items if type(each) is not WatchedFact or not holds_now(each)]
        self.is_complete = len(looked_at) == len(self.items)
        for number, (owner, name, value) in enumerate(looked_at):
            names[f"of_{number}"] = vars(owner) if value is ABSENT else owner
            names[f"value_{number}"] = value
            if value is ABSENT:
                holds = f"{name!r} not in of_{number}"
            elif type(value) is MethodType:
                holds = f"is_same(of_{number}.{name}, value_{number})"
            else:
                holds = f"of_{number}.{name} is value_{number}"
            lines.append(f"  if not ({holds}): return False")
        code = _compiled("\n".join([*lines, "  return True"]))
        # A copy: the interpreter notes in a function's code where it has found each global.
        self.hold: Callable[[], bool] = FunctionType(code.replace(), names)
        self.is_held: Callable[[], bool] = self.hold


@functools.lru_cache(maxsize=256)
def _compiled(text: str) -> CodeType:
    """The code of a function: its text is the same for the plans of all providers that have the same processors."""
    (code,) = (each for each in compile(text, "<string>", "exec").co_consts if type(each) is CodeType)
    return code


# By id, so that whatever an attribute may have can be looked up.
_equals: Final[dict[int, tuple[object, object]]] = {}


def equate(replacement: object, original: object) -> None:
    """Let a replacement count as what it replaces: it does the same, whether it is in force or not."""
    _equals[id(replacement)] = replacement, original


def original_of(value: object) -> object:
    """What the value counts as: what it replaces, or itself."""
    found = _equals.get(id(value))
    return value if found is None or found[0] is not value else found[1]


def is_same(found: object, value: object) -> bool:
    """Whether an attribute still has its value; a class method is bound again each time that it is read."""
    if found is value:
        return True
    if type(found) is MethodType and type(value) is MethodType:
        return found.__func__ is value.__func__ and found.__self__ is value.__self__
    return original_of(found) is original_of(value)


def holds_now(fact: tuple[object, str, object]) -> bool:
    """Whether an attribute has its value."""
    owner, name, value = fact
    return is_same(getattr(owner, name, ABSENT), value)


def is_true(facts: Facts) -> bool:
    """Whether all of them are true, also those that `Facts.hold` takes for granted."""
    if facts.is_complete:
        return facts.is_held()
    for owner, name, value in facts.items:
        if (name in vars(owner)) if value is ABSENT else not is_same(getattr(owner, name, ABSENT), value):
            return False
    return True
