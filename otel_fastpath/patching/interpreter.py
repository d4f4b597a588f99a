"""Facts about this interpreter and what is installed in it, each named once."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from typing import Final, NamedTuple

CPYTHON: Final = sys.implementation.name == "cpython"
# The way that Python's documentation names; `sys.abiflags` is missing on Windows.
FREE_THREADED: Final = CPYTHON and "free-threading build" in sys.version
# The fast core has no locks: it rests on a thread being interrupted at calls and backward jumps only.
WHY_NO_CORE: Final = (
    "this build of Python runs threads without the GIL, which the fast path relies on"
    if FREE_THREADED
    else ""
    if CPYTHON
    else f"the fast path relies on how CPython switches threads; this is {sys.implementation.name}"
)

_VERSION: Final = re.compile(r"^Version: *(\S+)", re.MULTILINE)


class Installed(NamedTuple):
    """One version of a distribution, and the folder or archive that it was found in."""

    version: str
    folder: str


def installed(distribution: str) -> tuple[Installed, ...]:
    """Each version of the distribution that is on sys.path, in its order; normally one.

    The version is read off the metadata's text: `importlib.metadata.version` reads it with the parser for e-mails,
    whose import alone costs more than all our look-ups.
    """
    found: dict[str, Installed] = {}
    for each in metadata.distributions(name=distribution):
        text = each.read_text("METADATA") or each.read_text("PKG-INFO") or ""
        version = _VERSION.search(text.partition("\n\n")[0])
        if version is not None:
            found.setdefault(version[1], Installed(version[1], str(each.locate_file(""))))
    return tuple(found.values())


def version(distribution: str) -> str | None:
    """The version that `importlib.metadata.version` gives, or None where it is not installed."""
    every = installed(distribution)
    return every[0].version if every else None
