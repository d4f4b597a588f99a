"""Turns names of modules into filters for the files whose exceptions are counted."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from typing import Final

from otel_fastpath import wrong_settings
from otel_fastpath.settings import title

MINE: Final = "mine"
NO_STDLIB: Final = "no-stdlib"

# Prefixes of file names, and whether exceptions in such files are counted. The first prefix that matches decides.
Filters = tuple[tuple[str, bool], ...]


def filters(modules: tuple[str, ...]) -> tuple[Filters, bool]:
    """The filters that decide whether exceptions in a file are counted.

    Args:
        modules: See `Settings.modules`.

    Returns:
        The filters, the most specific first, and whether exceptions in files that match none of them are counted.
    """
    # Exceptions that pass through our own hooks are counted in the code that raised them or that they reach next.
    found = {_OURS: False}
    names = [name for name in modules if name not in {MINE, NO_STDLIB}]
    if len(names) < len(modules):
        # Code that `exec` made: data classes, named tuples, annotations.
        found["<"] = False
        found.update(dict.fromkeys(_stdlib(), False))
        found.update(dict.fromkeys(_installed(), MINE not in modules))
    for name in names:
        places = _places(name)
        if not places:
            expected = f"{MINE}, {NO_STDLIB} or the name of a module that can be imported"
            wrong_settings.report(title("exceptions_modules"), name, expected)
        found.update(dict.fromkeys(places, True))
    ordered = sorted(found.items(), key=lambda item: -len(item[0]))
    return tuple(ordered), not names or len(names) < len(modules)


def counts(file_name: str, rules: Filters, default: bool) -> bool:
    """Whether exceptions in this file are counted."""
    for prefix, counted in rules:
        if file_name.startswith(prefix):
            return counted
    return default


def _folder(path: str) -> str:
    return os.path.join(path, "")  # noqa: PTH118  # adds the separator, so that "/lib/a" does not match "/lib/ab"


# The folder of otel_fastpath.
_OURS: Final = _folder(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120  # as code names its file


def _stdlib() -> set[str]:
    return {_folder(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}


def _installed() -> set[str]:
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()}
    if site.ENABLE_USER_SITE:
        paths.add(site.getusersitepackages())
    return {_folder(path) for path in paths}


def _places(name: str) -> set[str]:
    """The file of a module, or the folders of a package, found without importing it."""
    if name == "__main__":
        file = getattr(sys.modules.get(name), "__file__", None)
        return {file} if file else set()
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return set()
    if spec is None:
        return set()
    if spec.submodule_search_locations is not None:
        return {_folder(path) for path in spec.submodule_search_locations}
    return {spec.origin} if spec.origin and spec.has_location else set()
