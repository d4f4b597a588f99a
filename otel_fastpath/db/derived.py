"""Subclasses of a driver's classes, for drivers in C: their own classes cannot be changed.

Objects of a subclass are accepted wherever the driver or the application asks for one of the class. A class of the
application's own gets a subclass, too. With slots for what is stored, objects have no attributes that they had not.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# At most so many classes of an application are kept, so that one that makes a class for each call leaks none.
_MOST_CLASSES: Final = 128
_MARK: Final = "_otel_fastpath_derived"


class Derived:
    """The subclasses of some classes of a driver.

    Args:
        methods: Name of a method -> makes its wrapper, given the method.
        stored: The attributes that the wrappers store in an object.
        below: The names of the methods that are wrapped below those of the application, which call them by `super()`.
    """

    def __init__(
        self,
        methods: Mapping[str, Callable[[Any], Any]],
        stored: tuple[str, ...] = (),
        below: frozenset[str] = frozenset(),
    ) -> None:
        self._methods = methods
        self._stored = stored
        self._below = below
        self.of: Any = functools.lru_cache(_MOST_CLASSES)(self._of)

    def _of(self, base: Any) -> Any:
        """The subclass of this class.

        Raises:
            TypeError: The class allows no such subclass.
        """
        if self.is_of(base):
            return base
        # An object that has a `__dict__` needs no slot.
        names = ("__module__", "__qualname__", "__doc__")
        body: dict[str, Any] = {name: getattr(base, name) for name in names}
        body |= {"__slots__": () if base.__dictoffset__ else self._stored, _MARK: self}
        bases: tuple[type, ...] = (base,)
        for name, make in self._methods.items():
            if not hasattr(base, name):
                continue
            method = getattr(base, name)
            driver = next(kind for kind in reversed(base.__mro__) if name in vars(kind))
            if name not in self._below or method is getattr(driver, name):
                body[name] = make(method)
                continue
            inner = {"__module__": driver.__module__, "__slots__": (), name: make(getattr(driver, name))}
            bases += (type(driver)(driver.__name__, (driver,), inner),)
        return type(base)(base.__name__, bases, body)

    def over(self, made: Any) -> None:
        """Make an object one of the subclass, unless it is: a factory of the application may have made it.

        Raises:
            TypeError: The object is one of a class in C, whose objects cannot change their class.
        """
        if not self.is_of(type(made)):
            made.__class__ = self.of(type(made))

    def is_of(self, kind: type) -> bool:
        """Whether this is one of these classes, or a subclass of one."""
        return getattr(kind, _MARK, None) is self


def is_derived(kind: type) -> bool:
    """Whether this is a class of ours, or a subclass of one."""
    return hasattr(kind, _MARK)
