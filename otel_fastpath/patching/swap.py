"""One attribute of somebody else's module or class, exchanged and put back.

Where somebody wrapped the replacement meanwhile, putting back would take their wrapper off. The replacement stays below
it then and goes inert: its code is exchanged for one that hands every call on to the original. A compiled function has
no code to exchange; it has a switch that it looks at itself.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from types import CodeType, FunctionType
from typing import Any, Final

_MISSING: Final = object()
_ORIGINAL: Final = "_otel_fastpath_original"
# Where a compiled function keeps its switch: an object whose `inert` says whether the function hands its calls on.
_SWITCH: Final = "_otel_fastpath_switch"
# Descriptors around functions, and where they keep them.
_PARTS: Final[dict[type, tuple[str, ...]]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
}
# What a function's code may be for it to be exchanged: Python wants generators to stay generators.
_FORMS: Final = {
    0: ("def", "return"),
    inspect.CO_GENERATOR: ("def", "return (yield from"),
    inspect.CO_COROUTINE: ("async def", "return (await"),
}
# The code of functions that are inert now.
_live: weakref.WeakKeyDictionary[FunctionType, tuple[CodeType, dict[str, Any] | None]] = weakref.WeakKeyDictionary()
# By the identity of the replacement: what is or was in place, to look through it.
_by_replacement: dict[int, Swap] = {}


class Swap:
    """The exchange of one attribute.

    Attributes:
        owner: The module or class.
        name: The attribute.
        original: What stood there, raw: a descriptor where it is one.
        is_active: Whether the replacement is in force.
    """

    def __init__(self, owner: Any, name: str) -> None:
        self.owner = owner
        self.name = name
        self._is_own = name in vars(owner)
        self.original: Any = vars(owner)[name] if self._is_own else inspect.getattr_static(owner, name)
        self.is_active = False
        self._replacement: Any = _MISSING
        self._on_top: Any = _MISSING

    def put(self, replacement: Any) -> None:
        """Put the replacement in place.

        Raises:
            ValueError: It is the original itself.
        """
        if replacement is self.original:
            raise ValueError("the replacement is the original itself")
        for function in _functions(replacement):
            _revive(function)
        self._replacement = replacement
        _by_replacement[id(replacement)] = self
        self.lay()
        self.is_active = True

    def lay(self) -> None:
        """Let the replacement stand there."""
        setattr(self.owner, self.name, self._replacement)

    def lift(self) -> None:
        """Let the very same original stand there."""
        if self._is_own:
            setattr(self.owner, self.name, self.original)
        else:
            delattr(self.owner, self.name)

    def take_off(self) -> bool:
        """Put the very same original back, or make the replacement inert where somebody wrapped it.

        Returns:
            Whether the original is reached as before; False where the replacement can be neither taken off nor made
            inert, and stays in force.
        """
        is_inert = self._make_inert()
        current = self._current()
        if current is self._replacement:
            self.lift()
            is_inert = True
        else:
            self._on_top = current
        self.is_active = not is_inert
        return is_inert

    def revive(self) -> None:
        """Put an inert replacement in force again, where it stands."""
        for function in _functions(self._replacement):
            _revive(function)
        self.is_active = True

    def forget(self) -> None:
        """Look through this replacement no more."""
        _by_replacement.pop(id(self._replacement), None)

    def is_seen(self) -> bool:
        """Whether the replacement is what stands there, or is seen below wrappers that name what they wrap."""
        ours = [self._replacement, *(each for each in _functions(self._replacement) if each is not None)]
        layers = [self._current()]
        # Wrappers can name each other in a circle.
        for _ in range(100):
            if not layers:
                break
            layer = layers.pop()
            if any(layer is each for each in ours):
                return True
            layers += [below for below in _below(layer) if below is not None]
        return False

    def is_perhaps_hidden(self) -> bool:
        """Whether what stands there was put there on top of the replacement, without naming it."""
        current = self._current()
        return current is not self.original and (self.is_active or current is self._on_top)

    def _current(self) -> Any:
        return vars(self.owner).get(self.name, _MISSING)

    def _make_inert(self) -> bool:
        new, old = _functions(self._replacement), _functions(self.original)
        # A static method cannot stand in for a class method: it would hand on other arguments.
        same_kind = _kind(self._replacement) is _kind(self.original)
        pairs = [pair for pair in zip(new, old, strict=False) if pair[0] is not None]
        if not same_kind or not all(_is_exchangeable(one) and callable(other) for one, other in pairs):
            return False
        for function, original in pairs:
            _hand_on(function, original)
        return True


def seen_through(value: Any) -> Any:
    """What stands below the value where that is a replacement, in force or inert."""
    while (swap := _by_replacement.get(id(value))) is not None and swap._replacement is value:
        value = swap.original
    return value


def _kind(value: Any) -> type | None:
    return next((kind for kind in _PARTS if isinstance(value, kind)), None)


def _functions(value: Any) -> list[Any]:
    """The functions of a descriptor, in fixed places, or the value itself."""
    kind = _kind(value)
    return [value] if kind is None else [getattr(value, name) for name in _PARTS[kind]]


def _below(layer: Any) -> list[Any]:
    if _kind(layer) is not None:
        return _functions(layer)
    try:
        return [layer.__wrapped__]
    except Exception:  # it is somebody's attribute: whatever it does, there is nothing to see below
        return [layer.func if isinstance(layer, functools.partial) else None]


def _switch(function: Any) -> Any:
    """The switch of a compiled function, or None. A function's own dict is copied by whoever wraps it."""
    return None if isinstance(function, FunctionType) else getattr(function, "__dict__", {}).get(_SWITCH)


def _is_exchangeable(function: Any) -> bool:
    if type(function) is FunctionType:
        return not function.__code__.co_flags & inspect.CO_ASYNC_GENERATOR
    return _switch(function) is not None


def _hand_on(function: Any, original: Any) -> None:
    switch = _switch(function)
    if switch is not None:
        switch.inert = True
        return
    if function in _live:
        return
    _live[function] = (function.__code__, function.__kwdefaults__)
    # Named before the code that reads it: another thread may call the function at any moment.
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), _ORIGINAL: original}
    function.__code__ = _handing_on(function.__code__)


def _revive(function: Any) -> None:
    switch = _switch(function)
    if switch is not None:
        switch.inert = False
    elif isinstance(function, FunctionType) and (live := _live.pop(function, None)) is not None:
        function.__code__, function.__kwdefaults__ = live


def _handing_on(code: CodeType) -> CodeType:
    """Code that hands its calls on to `_ORIGINAL`, with as many free variables, and async or a generator if it was."""
    free = [f"free_{number}" for number in range(len(code.co_freevars))]
    define, give = _FORMS[code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)]
    lines = [
        "def scope():",
        *(f"    {name} = None" for name in free),
        f"    {define} inert(*args, {_ORIGINAL}, **kwargs):",
        f"        {give} {_ORIGINAL}(*args, **kwargs)" + (")" if "(" in give else ""),
        *(f"        {name}" for name in free),
        "    return inert.__code__",
    ]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)  # noqa: S102  # only the compiler makes code with a given number of free variables
    made: CodeType = namespace["scope"]()
    return made.replace(co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
