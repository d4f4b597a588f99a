"""Whether a module is installed, found without importing anything."""

from __future__ import annotations

import pkgutil
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_installed(name: str) -> bool:
    """Whether a module can be found. Unlike `importlib.util.find_spec`, this does not import the packages it is in."""
    top = name.partition(".")[0]
    path: Iterable[str] | None = None
    for end in [at for at, letter in enumerate(f"{name}.") if letter == "."]:
        each = name[:end]
        module = sys.modules.get(each)
        if module is not None:
            path = getattr(module, "__path__", ())
        elif each == top:
            spec = find_spec(each)
            path = None if spec is None else spec.submodule_search_locations or ()
        else:
            path = _places(each, path or ())
        if path is None:
            return False
    return True


def _places(name: str, path: Iterable[str]) -> list[str] | None:
    """The folders of a package's modules; none for a module that is no package, and None if it is not found."""
    of_namespace: list[str] = []
    for entry in path:
        finder = pkgutil.get_importer(entry)
        spec = None if finder is None else finder.find_spec(name)
        if spec is None:
            continue
        if spec.loader is not None:
            return list(spec.submodule_search_locations or ())
        of_namespace += spec.submodule_search_locations or ()
    return of_namespace or None
