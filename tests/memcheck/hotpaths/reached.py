"""Prints the modules of the package in which functions run while paths are gone through, with the pure core.

python -m hotpaths.reached 'span, current' 'span, limits'
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import json
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

from hotpaths.hosts import HOSTS, possible, servers
from hotpaths.worker import ready

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_PACKAGE: Final = f"{os.sep}otel_fastpath{os.sep}"


def modules_of(function: Callable[[], Any]) -> set[str]:
    """The modules of the package in which functions run meanwhile, as `db.queries.sql`."""
    found: set[str] = set()

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        file = frame.f_code.co_filename
        if _PACKAGE in file and frame.f_code.co_name != "<module>":
            found.add(file.rpartition(_PACKAGE)[2].removesuffix(".py").replace(os.sep, "."))

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def main(names: list[str]) -> None:
    """Go through them, and print a list in JSON."""
    warnings.simplefilter("ignore")
    with servers(names) as found:
        if not possible([name for name in names if name in HOSTS], found) and names[0] in HOSTS:
            print("null")
            return
        given, paths = ready({"core": "py", "names": names, "servers": found})
        modules = modules_of(lambda: [function(given) for function in paths.values()])
    print(json.dumps(sorted(modules)), flush=True)
    # Threads of a host have nothing to do any more.
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
