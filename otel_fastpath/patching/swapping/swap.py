"""Replaces one attribute of another package's module or class, and restores it.

If other code has wrapped the replacement meanwhile, restoring the original would remove that wrapper. The replacement
then stays below the wrapper and becomes inert: its code object is replaced by one that passes every call on to the
original. The code of a compiled function cannot be replaced; it checks a switch instead.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from contextlib import suppress
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# Where a function that is not Python's keeps its switch: an object whose `inert` says whether it passes its calls on.
SWITCH: Final = "_otel_fastpath_switch"
_MISSING: Final = object()
_ORIGINAL: Final = "_otel_fastpath_original"
_KEPT: Final = "_otel_fastpath_kept"
# Descriptors that hold functions, and the attributes in which they hold them.
_PARTS: Final[dict[type, tuple[str, ...]]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
}
# The kinds of code objects that can be replaced: in Python, a generator function's code must remain a generator's.
_FORMS: Final = {
    0: ("def", "return"),
    inspect.CO_GENERATOR: ("def", "return (yield from"),
    inspect.CO_COROUTINE: ("async def", "return (await"),
}
# The code and keyword defaults of the functions that are inert, to restore them.
_live: weakref.WeakKeyDictionary[FunctionType, tuple[CodeType, dict[str, Any] | None]] = weakref.WeakKeyDictionary()
# By the id of the replacement: every swap that is or was in place, to find the original below it.
_by_replacement: dict[int, Swap] = {}
# Likewise, the replacements that were forgotten and the originals that they pass their calls on to.
_forgotten: dict[int, tuple[weakref.ref[Any], Any]] = {}


class Swap:
    """The replacement of one attribute.

    Attributes:
        owner: The module or class.
        name: The attribute.
        original: The raw original value, which may be a descriptor.
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

    @property
    def callee(self) -> Any:
        """The original as a replacement calls it: `self` of a method is its first argument.

        Other code's wrapper of a method may be a descriptor, as wrapt's is, which finds `self` there only if the class
        has given it.
        """
        original, kind = self.original, type(self.original)
        is_others = kind is not FunctionType and _kind(original) is None and _below(original) != [None]
        if is_others and hasattr(kind, "__get__") and isinstance(self.owner, type):
            return original.__get__(None, self.owner)
        return original

    def put(self, replacement: Any) -> None:
        """Put the replacement in place.

        Raises:
            ValueError: It is the original itself.
        """
        if replacement is self.original:
            raise ValueError("the replacement is the original itself")
        for function in _functions(replacement):
            revive(function)
        self._replacement = replacement
        _by_replacement[id(replacement)] = self
        self.lay()
        self.is_active = True

    def lay(self) -> None:
        """Set the attribute to the replacement."""
        setattr(self.owner, self.name, self._replacement)

    def lift(self) -> None:
        """Set the attribute to the very same original."""
        if self._is_own:
            setattr(self.owner, self.name, self.original)
        else:
            delattr(self.owner, self.name)

    def take_off(self) -> bool:
        """Restore the very same original, or make the replacement inert if other code has wrapped it.

        Returns:
            Whether calls reach the original as before; False if the replacement can neither be removed nor made inert,
            and stays in force.
        """
        is_inert = self._make_inert()
        current = self.current()
        if current is self._replacement:
            self.lift()
            is_inert = True
        else:
            self._on_top = current
        self.is_active = not is_inert
        return is_inert

    def clear(self) -> None:
        """Set the attribute to the original if its value is the inert replacement: the wrapper around it is gone."""
        if self.current() is self._replacement:
            self.lift()

    def revive(self) -> None:
        """Put an inert replacement in force again, below the wrappers around it."""
        for function in _functions(self._replacement):
            revive(function)
        self.is_active = True

    def forget(self) -> None:
        """Forget this replacement. While others hold it, inert, `seen_through` still resolves it to its original."""
        key = id(self._replacement)
        _by_replacement.pop(key, None)
        # A descriptor has no weak references.
        with suppress(TypeError):
            if not self.is_active:
                held = weakref.ref(self._replacement, lambda _: _forgotten.pop(key, None))
                _forgotten[key] = held, self.original

    def is_seen(self) -> bool:
        """Whether the attribute is the replacement, or the replacement is found below wrappers with `__wrapped__`."""
        ours = [self._replacement, *(each for each in _functions(self._replacement) if each is not None)]
        return any(layer is each for layer in _layers(self.current()) for each in ours)

    def is_perhaps_hidden(self) -> bool:
        """Whether the attribute's value may be a wrapper of the replacement that has no `__wrapped__`."""
        current = self.current()
        return current is not self.original and (self.is_active or current is self._on_top)

    def current(self) -> Any:
        """The raw value of the attribute now; an object of its own if there is none."""
        return vars(self.owner).get(self.name, _MISSING)

    def _make_inert(self) -> bool:
        new, old = _functions(self._replacement), _functions(self.callee)
        # A static method cannot replace a class method: it would pass on other arguments.
        same_kind = _kind(self._replacement) is _kind(self.original)
        pairs = [pair for pair in zip(new, old, strict=False) if pair[0] is not None]
        if not same_kind or not all(_is_exchangeable(one) and callable(other) for one, other in pairs):
            return False
        for function, original in pairs:
            hand_on(function, original)
        return True


def is_in_force(value: Any) -> bool:
    """Whether the value is a replacement that is in force, or one is found below wrappers with `__wrapped__`."""
    swaps = ((layer, _by_replacement.get(id(layer))) for layer in _layers(value))
    return any(swap is not None and swap._replacement is layer and swap.is_active for layer, swap in swaps)


def seen_through(value: Any) -> Any:
    """The original, if the value is a replacement (in force or inert); otherwise the value itself."""
    while True:
        swap, held = _by_replacement.get(id(value)), _forgotten.get(id(value))
        if swap is not None and swap._replacement is value:
            value = swap.original
        elif held is not None and held[0]() is value:
            value = held[1]
        else:
            return value


def _kind(value: Any) -> type | None:
    return next((kind for kind in _PARTS if isinstance(value, kind)), None)


def _functions(value: Any) -> list[Any]:
    """The functions of a descriptor, in a fixed order, or the value itself."""
    kind = _kind(value)
    return [value] if kind is None else [getattr(value, name) for name in _PARTS[kind]]


def _layers(value: Any) -> Iterator[Any]:
    """The value, and what is found below it if it is a wrapper."""
    layers = [value]
    # Wrappers can refer to each other in a cycle.
    for _ in range(100):
        if not layers:
            return
        layer = layers.pop()
        yield layer
        layers += [below for below in _below(layer) if below is not None]


def _below(layer: Any) -> list[Any]:
    if _kind(layer) is not None:
        return _functions(layer)
    try:
        return [layer.__wrapped__]
    except Exception:  # the attribute may be a property that raises anything: nothing is known to be below
        return [layer.func if isinstance(layer, functools.partial) else None]


def _switch(function: Any) -> Any:
    """The switch of a compiled function, or None. Not of a Python function: `functools.wraps` copies the dict to it."""
    return None if isinstance(function, FunctionType) else getattr(function, "__dict__", {}).get(SWITCH)


def _is_exchangeable(function: Any) -> bool:
    if type(function) is FunctionType:
        return not function.__code__.co_flags & inspect.CO_ASYNC_GENERATOR
    return _switch(function) is not None


def is_handing_on(function: FunctionType) -> bool:
    """Whether the function passes its calls on."""
    return function in _live


def hand_on(function: Any, original: Any, *, packed: bool = False) -> None:
    """Let a function pass every call on to another one, until `revive`.

    Args:
        function: The function.
        original: The other one.
        packed: Whether that takes the arguments as a tuple and those by keyword as a dict: no generator or coroutine.
    """
    switch = _switch(function)
    if switch is not None:
        switch.inert = True
        return
    if function in _live:
        return
    _live[function] = (function.__code__, function.__kwdefaults__)
    # Set before the code that reads it: another thread may call the function at any moment.
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), _ORIGINAL: original}
    function.__code__ = _handing_on(function.__code__, packed)


def own_code(function: FunctionType) -> CodeType:
    """The code that a function runs unless it passes its calls on."""
    return _live[function][0] if function in _live else function.__code__


def receiver(function: FunctionType) -> Any:
    """What a function passes its calls on to."""
    return (function.__kwdefaults__ or {}).get(_ORIGINAL)


def redirect(function: FunctionType, other: Any) -> None:
    """Let a function that passes its calls on pass them on to another one; nothing if it does not pass any on."""
    if function in _live:
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), _ORIGINAL: other}


def keep_with(function: FunctionType, value: Any) -> None:
    """Keep something with a function that passes its calls on, until `revive`, and not longer than the function."""
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), _KEPT: value}


def kept_with(function: FunctionType) -> Any:
    """What is kept with a function."""
    return (function.__kwdefaults__ or {}).get(_KEPT)


def revive(function: Any) -> None:
    """Let a function run its own code again."""
    switch = _switch(function)
    if switch is not None:
        switch.inert = False
    elif isinstance(function, FunctionType) and (live := _live.pop(function, None)) is not None:
        function.__code__, function.__kwdefaults__ = live


@functools.lru_cache(maxsize=256)
def _handing_on(code: CodeType, packed: bool) -> CodeType:
    """Code that passes its calls on to `_ORIGINAL`, of the same kind and with as many free variables."""
    free = [f"free_{number}" for number in range(len(code.co_freevars))]
    define, give = _FORMS[code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE)]
    # In one line: its frame is then at the line where the function begins, and says that it runs none of its own.
    given = "args, kwargs" if packed else "*args, **kwargs"
    body = [f"{give} {_ORIGINAL}({given})" + (")" if "(" in give else ""), *free]
    lines = [
        "def scope():",
        *(f"    {name} = None" for name in free),
        f"    {define} inert(*args, {_ORIGINAL}, **kwargs): {'; '.join(body)}",
        "    return inert.__code__",
    ]
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)  # noqa: S102  # only the compiler makes code with a given number of free variables
    made: CodeType = namespace["scope"]()
    named = made.replace(co_name=code.co_name, co_filename=code.co_filename, co_firstlineno=code.co_firstlineno)
    return named.replace(co_qualname=code.co_qualname) if sys.version_info >= (3, 11) else named
