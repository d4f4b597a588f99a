"""Decides whether a patch may be applied, by the installed versions and the source code that it replaces."""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import linecache
import textwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement

from otel_fastpath.patching import swap
from otel_fastpath.patching.quiet import Quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_logger = Quiet(__name__)

_MISSING: Final = object()
_requirement = functools.cache(Requirement)


class SkipError(Exception):
    """The target is not what the patch was written against; the message says why."""


class UnmetError(SkipError):
    """The patch does not support the installed versions."""


def fingerprint(value: Any) -> str:
    """Digest the source of a function, method, property or class: the first 12 hex digits of its SHA-256.

    Common leading indentation and trailing white space are ignored. Decorated functions (with `functools.wraps`) are
    digested as written, including their decorators.

    Raises:
        OSError: The source is not available (a compiled module, a file without its source).
        TypeError: Values of this type have no source.
    """
    return _digest(inspect.getsource(_function_of(value)))


def _function_of(value: Any) -> Any:
    if isinstance(value, property):
        value = value.fget
    return inspect.unwrap(getattr(value, "__func__", value))


def _digest(text: str) -> str:
    text = "\n".join(line.rstrip() for line in textwrap.dedent(text).splitlines()).strip()
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_known(value: Any, known: frozenset[str]) -> bool:
    """Whether the function's source is one of these, without parsing it. If False, `fingerprint` must decide.

    `inspect.getsource` tokenizes each function, which would be half the cost of instrumenting. Here the text extends to
    the first line that can begin another statement. A wrong end cannot match by accident: text that is cut off inside
    a string or bracket has no known digest, nor has text that is too long. Comments do not end the text.
    """
    function = _function_of(value)
    if type(function) is not FunctionType:
        return False
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    indent = _indent(lines[0]) if lines else 0
    head = next((n for n, line in enumerate(lines) if line.lstrip().startswith(("def ", "async def "))), 0)
    end = len(lines)
    for number in range(head + 1, len(lines)):
        text = lines[number].lstrip()
        if text and _indent(lines[number]) <= indent and text[0] not in ")]}#":
            end = number
            break
    # Comments that are indented less than the body belong to the next statement.
    while end > head + 1 and (
        not (text := lines[end - 1].strip()) or (text[0] == "#" and _indent(lines[end - 1]) <= indent)
    ):
        end -= 1
    return _digest("".join(lines[:end])) in known


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

    def forget(self) -> None:
        """Forget the results, so that distributions are looked up again."""
        self._known = {}

    def check(self, text: str, *, any_version: bool) -> None:
        """Raise an error if this PEP 508 requirement is not met.

        If several versions are installed, it is unknown which one is imported: with `any_version` it is enough that one
        of them meets the requirement.

        Raises:
            UnmetError: It is not met.
        """
        requirement = _requirement(text)
        every = self._installed(requirement.name)
        if not every:
            raise UnmetError(f"{requirement.name} is not installed, {text} is needed")
        met = [requirement.specifier.contains(version, prereleases=True) for version, _ in every]
        if not (any(met) if any_version else all(met)):
            found = " and ".join(version for version, _ in every)
            raise UnmetError(f"{requirement.name} {found} is installed, {text} is needed")

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
        sources: "module:qualified.name" -> fingerprints. The modules are imported.
        decorators: The modules whose decorators are expected around these functions.

    Raises:
        SkipError: See above.
    """
    for place, known in sources.items():
        value = _resolve(place)
        layer = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        while (inner := getattr(layer, "__wrapped__", None)) is not None:
            # A proxy shows the attributes of the object that it wraps; only its type is its own.
            module = layer.__globals__.get("__name__") if type(layer) is FunctionType else type(layer).__module__
            if module not in decorators:
                raise SkipError(f"{place} is wrapped already, by {module}")
            layer = inner
        if _is_known(value, known):
            continue
        try:
            found = fingerprint(value)
        except (OSError, TypeError):
            raise SkipError(f"the source of {place} cannot be read") from None
        if found not in known:
            raise SkipError(f"the source of {place} (fingerprint {found}) is not one this patch was written for")


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
    if inspect.getattr_static(owner, name, _MISSING) is _MISSING:
        raise SkipError(f"{target} does not exist")
    return owner, name


def _resolve(place: str) -> Any:
    module_name = place.partition(":")[0]
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise SkipError(f"{module_name} cannot be imported: {error}") from None
    owner, name = owner_of(module, place)
    return swap.seen_through(inspect.getattr_static(owner, name))
