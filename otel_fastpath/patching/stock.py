"""Whether the functions of stock that a replacement stands for, or whose results it keeps, are still stock's own.

A replacement does not call each function of stock that the code in its place would call. Other code may put a function
of its own there at any time, and a new release may change one: then stock's code runs, which calls what is there.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from types import CodeType, FunctionType, GenericAlias, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.compiled.facts import Facts, WatchedFact, is_same, original_of
from otel_fastpath.patching.cache import remembering
from otel_fastpath.patching.sources.guard import (
    ReplacedError,
    SkipError,
    are_known,
    check_source,
    check_sources,
    is_known,
    owner_of,
)
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.swapping import swap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from otel_fastpath.patching.sources.known import Known

    _Item = tuple[Any, str, Any]

# The modules of the decorators that stock uses.
_DECORATORS: Final = frozenset({"contextlib", "opentelemetry.util._decorator"})
# The lists that functions of stock's read, by name: who keeps what follows from them puts them here.
LISTS: Final[dict[str, list[str]]] = {}
_CACHED: Final = type(functools.lru_cache(len))
# Facts that do not hold, until somebody has looked: `Stock.holds_again`.
UNKNOWN: Final = ((sys.modules[__name__], "_DECORATORS", None),)


class Stock:
    """What one function of stock calls, directly or not: it is read from the code.

    Args:
        place: The function, as "module:qualified.name"; None: there are only `sources`.
        known: The fingerprints of every function that is to be looked at.
        sources: Further ones, such as methods, which cannot be read from the code; with their fingerprints.
        apart: Functions that are called whenever they are not as they were, with what they call.
    """

    def __init__(
        self,
        place: str | None,
        known: Known,
        sources: Mapping[str, frozenset[str]] | None = None,
        apart: Sequence[Stock] = (),
    ) -> None:
        self._place = place
        self._known = known
        self._sources = {each: of for each, of in (sources or {}).items() if each != place}
        self.apart = apart
        self._left_out = frozenset(each.partition(":")[2] for one in apart for each in one._sources)
        self._target: Any = None
        self._refused: Facts | None = None
        self._made_anew: list[_Item] = []

    def check(self) -> None:
        """Look at the functions before the first of them is replaced.

        Raises:
            SkipError: One of them is not stock's own, or not known.
        """
        if self._place is not None:
            # Later, other code may have wrapped it.
            self._target = swap.seen_through(inspect.getattr_static(*_owner_of(self._place)))
        _, error = self.look()
        if error is not None:
            raise error

    def why_not(self) -> str:
        """Which function is not stock's own any more, and what follows; empty: all are."""
        _, error = self.look()
        if error is not None:
            return f"{error}: OpenTelemetry's own code runs"
        errors = [each.look()[1] for each in self.apart]
        return next((f"{error}: it is called for each request" for error in errors if error), "")

    def holds_again(self, facts: Any) -> bool:
        """Whether the functions are stock's own, after `facts` did not hold; they are renewed then.

        The functions may have been replaced or given back by this package.
        """
        refused, made_anew = self._refused, self._made_anew
        if refused is not None and refused.hold() and all(_stored(*of) is value for *of, value in made_anew):
            return False
        found, error = self.look()
        # No fact holds about what is made anew each time that it is read, such as a method that wrapt has wrapped.
        lasting, self._made_anew = [], []
        for fact in found:
            if is_same(getattr(*fact[:2]), fact[2]):
                lasting.append(fact)
            else:
                self._made_anew.append((*fact[:2], _stored(*fact[:2])))
        # Whatever was replaced may be given back.
        self._refused = None if error is None else Facts(map(tuple, lasting))
        if error is None:
            facts.renew(lasting)
        return error is None

    def look(self) -> tuple[list[_Item], SkipError | None]:
        """Every function as it is now, and why they may not be replaced."""
        found: dict[tuple[int, str], _Item] = {}
        try:
            check_sources(self._sources, _DECORATORS)
            error = None
        except SkipError as skip:
            error = skip.without_frames()
        for place in self._sources:
            owner, name = _owner_of(place)
            found[id(owner), name] = (owner, name, getattr(owner, name))
        # What is only called by a set-up need not be looked at for each call.
        waiting = [self._target, *[value for _, name, value in found.values() if name != "__init__"]]
        while waiting:
            function = _plain(waiting.pop())
            for owner, name, value in _lists(function):
                found[id(owner), name] = (owner, name, value)
                if value is not LISTS[name]:
                    error = error or ReplacedError(f"{owner.__name__}:{name} is replaced already")
            for owner, name in _named(function, self._known.names()):
                if (id(owner), name) in found or name in self._left_out:
                    continue
                value = getattr(owner, name)
                found[id(owner), name] = (owner, name, value)
                try:
                    self._check(f"{owner.__name__}:{name}", _plain(value))
                    waiting.append(value)
                except SkipError as skip:
                    error = error or skip.without_frames()
        return list(found.values()), error

    def _check(self, place: str, function: Any) -> None:
        """Raise an error if the function is not stock's own, or not known."""
        is_plain = isinstance(function, type)
        own = function.__module__ if is_plain else origin(function)
        if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
            is_plain = True
        written = f"{own}:{getattr(function, '__qualname__', '')}"
        ((_, expected),) = self._known.sources(written).items()
        try:
            if is_plain and str(own).startswith(("opentelemetry.", "fastapi.")):
                check_source(written, function, expected)
            elif not is_plain or not is_known(function, expected):
                raise ReplacedError(f"{place} is replaced already, by {own}")
        except (OSError, TypeError):
            raise SkipError(f"the source of {place} cannot be read") from None

    def places(self) -> set[str]:
        """Every function as it is written: "module:qualified.name"."""
        functions = (_plain(value) for _, _, value in self.look()[0])
        return {f"{each.__module__}:{each.__qualname__}" for each in functions if hasattr(each, "__qualname__")}


class Reached(Stock):
    """What some functions of stock call, directly or not, of releases that are bounded otherwise: without fingerprints.

    Args:
        first: The functions, each as "module:qualified.name", or as its class or module and its name.
        apart: As in `Stock`.
        alone: Whether only these are looked at, and not what they call.
    """

    def __init__(self, first: Sequence[Any], apart: Sequence[Stock] = (), *, alone: bool = False) -> None:
        super().__init__(None, None, apart=apart)  # type: ignore[arg-type]  # no fingerprints
        self._first, self._is_alone = tuple(first), alone

    def look(self) -> tuple[list[_Item], SkipError | None]:
        """Every function as it is now, and why they may not be replaced."""
        found: dict[tuple[int, str], _Item] = {}
        error: SkipError | None = None
        waiting = [_owner_of(each) if isinstance(each, str) else each for each in self._first]
        kinds = tuple(dict.fromkeys(owner for owner, _ in waiting if isinstance(owner, type)))
        classes = functools.cache(functools.partial(_classes, kinds))
        while waiting:
            owner, name = waiting.pop()
            if (id(owner), name) in found:
                continue
            value = getattr(owner, name)
            found[id(owner), name] = (owner, name, value)
            for part in (value.fget, value.fset, value.fdel) if type(value) is property else (value,):
                function = _uncached(part)
                if is_own(function):
                    waiting += () if self._is_alone else _reached(function, classes)
                elif part is not None:
                    error = error or ReplacedError(f"{owner.__name__}:{name} is replaced already, by {origin(part)}")
        return list(found.values()), error


def _reached(
    function: FunctionType, classes: Callable[[ModuleType], list[tuple[type, frozenset[str]]]]
) -> Iterator[tuple[Any, str]]:
    """The functions of stock that a function's code names, and the methods of the classes that it may have called."""
    own = sys.modules[(variables := function.__globals__)["__name__"]]
    for used in (name for name in _names(swap.own_code(function)) if not name.startswith("__")):
        if used in variables and _is_function(used, variables[used]):
            yield own, used
        for kind, methods in classes(own):
            if used in methods:
                yield kind, used


def _classes(kinds: tuple[type, ...], module: ModuleType) -> list[tuple[type, frozenset[str]]]:
    """These classes and those of stock in a module, each with its methods."""
    own = [value for value in vars(module).values() if isinstance(value, type) and _is_watched(value.__module__)]
    return [(kind, _methods(kind)) for kind in dict.fromkeys((*kinds, *own))]


def _methods(kind: type) -> frozenset[str]:
    """The names of a class's methods and properties, whatever other code has put in their place."""
    # Not those of the classes of other packages: nothing of stock's is in these.
    classes = [base for base in reversed(kind.__mro__) if _is_watched(base.__module__)]
    found = {name: value for base in classes for name, value in vars(base).items()}
    return frozenset(name for name, of in found.items() if isinstance(of, (classmethod, property)) or _is_called(of))


def _is_called(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, ModuleType, GenericAlias))


def _is_function(name: str, value: Any) -> bool:
    """Whether this global of stock's is a function of stock's, or what other code has put in its place."""
    if not _is_called(value):
        return False
    # A replacement of ours stands for what it replaces, which may be a function of Python's.
    value = swap.seen_through(value)
    value = value.func if type(value) is functools.partial else value
    function = _uncached(value)
    if is_own(function):
        return _is_watched(function.__globals__["__name__"])
    # What stock imports from elsewhere is there, too; from Python's library, it may have a private name in stock.
    module, own = (str(getattr(value, each, "")) for each in ("__module__", "__name__"))
    known = own if module.partition(".")[0] in sys.stdlib_module_names else name
    is_private = name.startswith("_") and known == name
    # A wrapper may have taken over the names of the function, in whose own module it is.
    is_wrapper = own != "" and _is_watched(module)
    return is_private or is_wrapper or getattr(sys.modules.get(module), known, None) is not value


def _is_watched(module: Any) -> bool:
    """Whether a module is one of the instrumentations: what they call of the API and the SDK, ours calls, too."""
    return str(module).startswith(("opentelemetry.instrumentation.", "opentelemetry.util.genai."))


def is_own(function: Any) -> bool:
    """Whether a function is defined by OpenTelemetry's code and is no wrapper."""
    return (
        type(function) is FunctionType
        and str(function.__globals__.get("__name__")).startswith("opentelemetry.")
        and not hasattr(function, "__wrapped__")
    )


def definer(owner: Any, name: str) -> Any:
    """The class that an attribute of a class comes from, or the module that has it; None if there is none."""
    owners = owner.__mro__ if isinstance(owner, type) else (owner,)
    return next((each for each in owners if name in vars(each)), None)


def is_defined_in(owner: Any, value: Any) -> bool:
    """Whether this is a function or property whose code stands in a module, or in that of a class, and no wrapper."""
    module = owner if isinstance(owner, ModuleType) else sys.modules.get(owner.__module__)
    function: Any = value.fget if type(value) is property else value
    if type(function) in {staticmethod, classmethod}:
        function = function.__func__
    # A wrapper may have the wrapped function's `__module__`, but not its globals.
    return type(function) is FunctionType and module is not None and function.__globals__ is vars(module)


def as_defined(owner: Any, name: str) -> object:
    """The function or property of this name if stock defined it in this module or class, also below `facts.equate`.

    If other code has replaced it, an object that nothing else is identical to: the replacement is to be called.
    """
    found = original_of(vars(owner).get(name))
    return found if is_defined_in(owner, found) else object()


def is_unreplaced(owner: Any, name: str) -> bool:
    """Whether a class or module has stock's own function or property of this name, or this package's in its place."""
    place = definer(owner, name)
    return place is not None and is_defined_in(place, swap.seen_through(vars(place)[name]))


def unreplaced(owner: Any, name: str) -> _Item:
    """The fact that nobody replaces this function or property; it never holds if other code has done so already."""
    return owner, name, getattr(owner, name) if is_unreplaced(owner, name) else object()


def watched(owner: Any, *names: str) -> list[WatchedFact]:
    """That nobody replaces those of these properties and methods that exist; see `WatchedFact`."""
    facts = [(owner, name, as_defined(definer(owner, name), name)) for name in names if hasattr(owner, name)]
    return list(map(WatchedFact, facts))


def inherits(kind: type, base: type, names: Sequence[str]) -> bool:
    """Whether a class has these attributes from this class of stock's, or from one that this inherits from."""
    return issubclass(kind, base) and all(definer(kind, name) is definer(base, name) for name in names)


def own_methods(kinds: Mapping[type, Sequence[str]]) -> dict[type, tuple[tuple[str, Any], ...]]:
    """These methods of each class, for `has_own`; one that other code has replaced is equal to nothing."""
    return {kind: tuple(unreplaced(kind, name)[1:] for name in names) for kind, names in kinds.items()}


def has_own(value: Any, methods: Mapping[type, Sequence[tuple[str, Any]]]) -> bool:
    """Whether an object is exactly of one of these classes, and has the methods that `own_methods` found there."""
    kind = type(value)
    if kind not in methods:
        return False
    own = vars(value)
    for name, function in methods[kind]:  # noqa: SIM110  # a generator takes longer
        if name in own or getattr(kind, name) is not function:
            return False
    return True


def is_written(owner: type, name: str, known: Known) -> bool:
    """Whether a method of this class is one that this package knows, and that no other code has replaced."""
    return _is_written(owner, name, getattr(owner, name), known)


@remembering(256)
def _is_written(owner: type, name: str, _method: Any, known: Known) -> bool:
    place = definer(owner, name)
    return are_known(known.sources(f"{place.__module__}:{place.__qualname__}.{name}"))


def _stored(owner: Any, name: str) -> Any:
    """What an attribute is made of when it is read."""
    return vars(definer(owner, name) or owner).get(name)


def _owner_of(place: str) -> tuple[Any, str]:
    return owner_of(importlib.import_module(place.partition(":")[0]), place)


def _plain(value: Any) -> Any:
    """The function of stock in this place: below this package's replacement, and below stock's own decorator."""
    function = swap.seen_through(value)
    # A wrapper object of wrapt shows the attributes of what it wraps.
    if type(function) in {MethodType, staticmethod, classmethod}:
        function = swap.seen_through(function.__func__)
    if type(function) is FunctionType and function.__globals__.get("__name__") in _DECORATORS:
        function = getattr(function, "__wrapped__", function)
    return function


def _uncached(value: Any) -> Any:
    """Likewise, and below a cache of its results: some functions of stock have one."""
    function = _plain(value)
    return _plain(function.__wrapped__) if type(function) is _CACHED else function


def _named(function: Any, names: frozenset[str]) -> Iterator[tuple[ModuleType, str]]:
    """The functions with one of these names that a function's code calls, with the modules in which it finds them."""
    if type(function) is not FunctionType:
        return
    own = sys.modules.get(function.__globals__.get("__name__", ""))
    if own is None:
        return
    variables = vars(own)
    for used in _names(swap.own_code(function)):
        # It may be imported with the name of its module in front, such as `wsgi_collect_request_attributes`.
        if used in variables and (used in names or used.partition("_")[2] in names):
            yield own, used
        if used not in names:
            continue
        for module in map(variables.get, _names(swap.own_code(function))):
            if type(module) is ModuleType and module is not own and used in vars(module):
                yield module, used


def _lists(function: Any) -> Iterator[tuple[Any, str, Any]]:
    """What stands in the place of `LISTS` that a function's code reads, with the module in which it finds it."""
    own = sys.modules.get(function.__globals__.get("__name__", "")) if type(function) is FunctionType else None
    for used in () if own is None else _names(swap.own_code(function)):
        if used in LISTS and used in vars(own):
            yield own, used, vars(own)[used]


@functools.lru_cache(maxsize=512)
def _names(code: CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a function's code, and in that of the functions inside of it."""
    inner = [_names.__wrapped__(each) for each in code.co_consts if type(each) is CodeType]
    return tuple(dict.fromkeys([*code.co_names, *(name for names in inner for name in names)]))
