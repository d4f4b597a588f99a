"""Facts about this interpreter and the distributions installed in it, each defined once."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any, Final, NamedTuple

CPYTHON: Final = sys.implementation.name == "cpython"
# The check that Python's documentation recommends; `sys.abiflags` is missing on Windows.
FREE_THREADED: Final = CPYTHON and "free-threading build" in sys.version
# With the interpreter lock, the core relies on threads being switched only at calls and backward jumps. Without it, and
# on CPython 3.10, `compiled.sharing` guards what threads share.
WHY_NO_CORE: Final = (
    "" if CPYTHON else f"the fast path relies on how CPython switches threads; this is {sys.implementation.name}"
)
# CPython calls the build experimental before 3.14, which stops all threads before a fork: docs/free-threaded.md.
WHY_ON_REQUEST: Final = (
    "CPython 3.13 without the GIL is experimental: OTEL_FASTPATH_CORE=c or py turns the fast path on"
    if FREE_THREADED and sys.version_info < (3, 14)
    else ""
)


class Installed(NamedTuple):
    """One version of a distribution, and the folder or archive where it was found."""

    version: str
    folder: str


def read_field(distribution: Any, name: str) -> list[str]:
    """The values of a field of the core metadata (PEP 566) in their order, as `distribution.metadata.get_all` has them.

    The email parser, which `importlib.metadata` uses, reads the description as well, each time: a million instructions.

    Args:
        distribution: An `importlib.metadata.Distribution`.
        name: Of the field, such as "Requires-Dist".

    Returns:
        None of them if one is longer than a line, which the field's own specification does not allow.
    """
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    wanted = name.lower()
    values: list[str] = []
    is_wanted = False
    for line in text.partition("\n\n")[0].split("\n"):
        if line.startswith((" ", "\t")):
            if is_wanted:
                return []
            continue
        field, colon, value = line.partition(":")
        # The email parser takes such a line for the first one of the description.
        if not colon or " " in field or not (field.isascii() and field.isprintable()):
            break
        is_wanted = field.lower() == wanted
        if is_wanted:
            values.append(value.lstrip(" \t"))
    return values


def installed(distribution: str) -> tuple[Installed, ...]:
    """Each version of the distribution on `sys.path`, in that order; normally one."""
    found: dict[str, Installed] = {}
    for each in metadata.distributions(name=distribution):
        for number in read_field(each, "Version")[:1]:
            found.setdefault(number, Installed(number, str(each.locate_file(""))))
    return tuple(found.values())


def version(distribution: str) -> str | None:
    """The version that `importlib.metadata.version` returns, or None if the distribution is not installed."""
    every = installed(distribution)
    return every[0].version if every else None


def distribution_of(module: str) -> str:
    """The distribution that a module is part of, by its name: the longest part of it that one is named after."""
    parts = module.replace("_", "-").split(".")
    for number in range(len(parts), 1, -1):
        name = "-".join(parts[:number])
        if installed(name):
            return name
    return "opentelemetry-api" if parts[0] == "opentelemetry" else parts[0]
