"""Decides whether a patch may be applied, by the installed versions and the source code that it replaces."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import linecache
import sys
import textwrap
from contextlib import suppress
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement

from otel_fastpath.patching.quiet import Quiet
from otel_fastpath.patching.sources import proven
from otel_fastpath.patching.sources.origin import origin
from otel_fastpath.patching.swapping import swap

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

_logger = Quiet(__name__)

_MISSING: Final = object()
_USUAL: Final = frozenset({type, ModuleType})
# Among the fingerprints of a source: releases without it are supported, too.
MAY_BE_MISSING: Final = "may be missing"
# Between the name of a function and that of one that it defines.
_INNER: Final = ".<locals>."
_requirement = functools.cache(Requirement)
# By the id of a code object.
_digests: Final[dict[int, tuple[Any, str]]] = {}


class SkipError(Exception):
    """The target is not what the patch was written against; the message says why."""

    def without_frames(self) -> SkipError:
        """This error without the frames it came through: kept in one, it would keep them, and the host's below."""
        self.__context__ = None
        return self.with_traceback(None)


class UnmetError(SkipError):
    """The patch does not support the installed versions."""


class ReplacedError(SkipError):
    """Other code has replaced or wrapped the target: its own code runs, as it would without the patch."""


class UnknownError(SkipError):
    """A function does something else than in the releases that the patch was written for.

    Args:
        place: The function, as "module:qualified.name".
        found: Its fingerprint.
    """

    def __init__(self, place: str, found: str) -> None:
        super().__init__(f"the source of {place} (fingerprint {found}) is not one this patch was written for")
        self.place = place


def fingerprint(value: Any) -> str:
    """Digest what a function, method, property or class does, as 12 hex digits: see `sources.syntax`.

    The layout of the source, comments and docstrings do not count, nor do annotations that are not read at run time.
    Decorated functions (with `functools.wraps`) are digested as written, including their decorators.

    Raises:
        OSError: The source is not available (a compiled module, a file without its source).
        TypeError: Values of this type have no source.
    """
    from otel_fastpath.patching.sources import syntax  # noqa: PLC0415  # not needed where the text itself is known

    function = function_of(value)
    with suppress(SyntaxError):
        return syntax.digest(syntax.parse_definition(_text(function)))
    try:
        return syntax.digest(syntax.parse_definition(inspect.getsource(function)))
    except SyntaxError as error:
        raise OSError(f"the source of {value!r} is not one definition") from error


def is_known(value: Any, known: Container[str]) -> bool:
    """Whether the value's `fingerprint` is one of these, or the digest of its text (see `text_digest`).

    Text is digested first because parsing all sources would take a third of the time for instrumenting.

    Raises:
        OSError, TypeError: See `fingerprint`.
    """
    return _digest(function_of(value)) in known or fingerprint(value) in known


def check_source(place: str, value: Any, known: Container[str]) -> None:
    """Raise an error if a function does something else than in the releases that are known, and was not proven here.

    Args:
        place: "module:qualified.name".
        value: What is there.
        known: Its fingerprints.

    Raises:
        UnknownError: See above.
        OSError, TypeError: See `fingerprint`.
    """
    if not is_known(value, known) and not proven.is_accepted(place, found := fingerprint(value)):
        raise UnknownError(place, found)


def _digest(function: Any) -> str:
    """The digest of a function's or class's text; "" if the text is not found.

    It is kept, because several patches rest on the same source: by the id of the code object, since equal ones can be
    of other files.
    """
    code = getattr(function, "__code__", None)
    _, digest = _digests.get(id(code), (None, None))
    if digest is None:
        text = _text(function)
        digest = text_digest(text) if text else ""
        if code is not None:
            _digests[id(code)] = (code, digest)
    return digest


def text_digest(text: str) -> str:
    """Digest a definition's text as 12 hex digits; common indentation and white space at line ends do not count."""
    lines = [line.rstrip() for line in text.splitlines()]
    margin = lines[0][: _indent(lines[0])] if lines else ""
    solid = [line for line in lines if line]
    # Almost every definition: its first line is indented least. All lines are between the least and the greatest.
    if margin.strip(" ") or not (solid and min(solid).startswith(margin) and max(solid).startswith(margin)):
        margin, lines = "", [line.rstrip() for line in textwrap.dedent(text).splitlines()]
    text = "\n".join([line[len(margin) :] for line in lines]).strip()
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def function_of(value: Any) -> Any:
    """The function as it is written, below a property and decorators; or the class."""
    if isinstance(value, property):
        value = value.fget
    return inspect.unwrap(getattr(value, "__func__", value))


def _text(function: Any) -> str:
    """The text of a function or class as `inspect.getsource` has it, found without the tokenizer; "" if not found.

    Tokenizing each function would be half the cost of instrumenting. Here the text extends to the first line that can
    begin another statement. A wrong end cannot go unnoticed: text that is cut off inside a string or bracket has no
    known digest and is not a definition, nor is text that is too long. Comments do not end the text.
    """
    lines, first = _first_line(function)
    if first >= len(lines):
        return ""
    indent = _indent(lines[first])
    numbers = range(first, len(lines))
    head = next((n for n in numbers if lines[n].lstrip().startswith(("def ", "async def ", "class "))), first)
    end = len(lines)
    for number in range(head + 1, len(lines)):
        line = lines[number]
        text = line.lstrip()
        if text and len(line) - len(text) <= indent and text[0] not in ")]}#":
            end = number
            break
    # Comments that are indented less than the body belong to the next statement.
    while end > head + 1 and (
        not (text := lines[end - 1].strip()) or (text[0] == "#" and _indent(lines[end - 1]) <= indent)
    ):
        end -= 1
    return "".join(lines[first:end])


def _first_line(value: Any) -> tuple[list[str], int]:
    """The lines of the file, and the index of this function's or class's first one; none for another value."""
    if type(value) is FunctionType:
        code = value.__code__
        return linecache.getlines(code.co_filename, value.__globals__), code.co_firstlineno - 1
    module = sys.modules.get(getattr(value, "__module__", ""))
    file = getattr(module, "__file__", None)
    if not isinstance(value, type) or module is None or file is None:
        return [], 0
    lines = linecache.getlines(file, vars(module))
    heads = tuple(f"class {value.__qualname__}{end}" for end in "(:[")
    found = [number for number, line in enumerate(lines) if line.startswith(heads)]
    if len(found) != 1:
        return [], 0
    first = found[0]
    while first > 0 and lines[first - 1].startswith("@"):
        first -= 1
    # Other lines right above it may belong to a decorator.
    is_whole = first == 0 or not lines[first - 1].strip()
    return (lines, first) if is_whole else ([], 0)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


class Distributions:
    """The installed distributions. Each is looked up once, until `forget` is called.

    Args:
        look_up: Returns every (version, folder) of a distribution on sys.path.
    """

    def __init__(self, look_up: Callable[[str], Sequence[tuple[str, str]]]) -> None:
        self._look_up = look_up
        self._known: dict[str, Sequence[tuple[str, str]]] = {}
        # The requirements that are met; the same few are those of most patches.
        self._met: set[tuple[str, bool]] = set()

    def forget(self) -> None:
        """Forget the results, so that distributions are looked up again."""
        self._known = {}
        self._met.clear()

    def check(self, text: str, *, any_version: bool) -> None:
        """Raise an error if this PEP 508 requirement is not met, or none of those that " | " separates.

        If several versions are installed, it is unknown which one is imported: with `any_version` it is enough that one
        of them meets the requirement.

        Raises:
            UnmetError: It is not met.
        """
        if (text, any_version) in self._met:
            return
        unmet = [self._unmet(each, any_version=any_version) for each in text.split(" | ")]
        if all(unmet):
            raise UnmetError("; ".join(unmet))
        self._met.add((text, any_version))

    def _unmet(self, text: str, *, any_version: bool) -> str:
        """Why the requirement is not met; empty if it is."""
        requirement = _requirement(text)
        every = self._installed(requirement.name)
        if not every:
            return f"{requirement.name} is not installed, {text} is needed"
        met = [requirement.specifier.contains(version, prereleases=True) for version, _ in every]
        if any(met) if any_version else all(met):
            return ""
        found = " and ".join(version for version, _ in every)
        return f"{requirement.name} {found} is installed, {text} is needed"

    def _installed(self, name: str) -> Sequence[tuple[str, str]]:
        known = self._known
        if name not in known:
            known[name] = self._look_up(name)
            if len(known[name]) > 1:
                _logger.warning(
                    "%s is installed more than once: %s. Patches are checked against the source that is imported.",
                    name,
                    ", ".join(f"{version} in {folder}" for version, folder in known[name]),
                )
        return known[name]


def check_sources(sources: Mapping[str, frozenset[str]], decorators: frozenset[str]) -> None:
    """Raise an error if a source has no known fingerprint, or if other code has wrapped the function.

    Args:
        sources: "module:qualified.name" -> fingerprints. The modules are imported. A function that another one defines
            is "module:outer.<locals>.inner".
        decorators: The modules whose decorators are expected around these functions.

    Raises:
        SkipError: See above.
    """
    for place, outer, known in _existing(sources):
        layer = outer.fget if isinstance(outer, property) else getattr(outer, "__func__", outer)
        while (below := getattr(layer, "__wrapped__", None)) is not None:
            module = origin(layer)
            if module not in decorators:
                raise ReplacedError(f"{place} is wrapped already, by {module}")
            layer = below
        value = resolve(place) if _INNER in place else outer
        function = function_of(value)
        is_defined_here = type(function) is not FunctionType or function.__module__ == place.partition(":")[0]
        try:
            if is_defined_here:
                check_source(place, value, known)
            elif not is_known(value, known):
                raise ReplacedError(f"{place} is replaced already, by {function.__module__}")
        except (OSError, TypeError):
            if is_defined_here:
                raise SkipError(f"the source of {place} cannot be read") from None
            raise ReplacedError(f"{place} is replaced already, by {function.__module__}") from None


def _existing(sources: Mapping[str, frozenset[str]]) -> Iterator[tuple[str, Any, frozenset[str]]]:
    """The sources that this release has, with what is there; of a function in another one, the outer one."""
    for place, known in sources.items():
        try:
            value = resolve(place.partition(_INNER)[0])
        except SkipError:  # noqa: PERF203  # there may be others
            if MAY_BE_MISSING not in known:
                raise
        else:
            yield place, value, known


def _inner_of(function: Any, place: str, name: str) -> FunctionType:
    """A function that looks like one that this function defines, which is called only to have it."""
    for code in getattr(getattr(function, "__code__", None), "co_consts", ()):
        if type(code) is CodeType and code.co_name == name:
            cells = tuple(CellType() for _ in code.co_freevars)
            return FunctionType(code, function.__globals__, name, None, cells)
    raise SkipError(f"{place} does not exist")


def are_known(sources: Mapping[str, frozenset[str]]) -> bool:
    """Whether `check_sources` accepts these sources, without any decorator around the functions."""
    try:
        check_sources(sources, frozenset())
    except SkipError:
        return False
    return True


def owner_of(module: Any, target: str) -> tuple[Any, str]:
    """The module or class that has the target as an attribute, and the attribute's name.

    Raises:
        SkipError: The target does not exist.
    """
    *path, name = target.partition(":")[2].split(".")
    owner = module
    for part in path:
        owner = getattr(owner, part, _MISSING)
        if owner is _MISSING:
            raise SkipError(f"{target} does not exist: no {part}")
    if _attribute(owner, name) is _MISSING:
        raise SkipError(f"{target} does not exist")
    return owner, name


def _attribute(owner: Any, name: str) -> Any:
    """The raw attribute of a module or class; what is missing is `_MISSING`."""
    # The usual case takes `inspect` ten times as long.
    if type(owner) in _USUAL and name in vars(owner):
        return vars(owner)[name]
    return inspect.getattr_static(owner, name, _MISSING)


def resolve(place: str) -> Any:
    """What is at a place, "module:qualified.name", below this package's replacement.

    Raises:
        SkipError: There is no such thing.
    """
    module_name = place.partition(":")[0]
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise SkipError(f"{module_name} cannot be imported: {error}") from None
    outer, _, inner = place.partition(_INNER)
    owner, name = owner_of(module, outer)
    value = swap.seen_through(_attribute(owner, name))
    return _inner_of(function_of(value), place, inner) if inner else value
