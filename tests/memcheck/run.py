"""Goes through the hot paths under valgrind's memcheck, or in a debug build of Python that counts references.

    make memcheck ARGS="--only span 'structlog, events' redis"
    make memcheck DEBUG_PYTHON=/usr/bin/python3.14d

The hosts of `make faults`, a library each, are paths as well, each in a process of its own; only valgrind goes through
them. Exit status 1 means that something is wrong with memory, or references are lost; 69 that valgrind or a compiler is
not installed; 2 that it could not be looked at for another reason.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hotpaths import references, valgrind
from hotpaths.choice import chosen
from hotpaths.hosts import HOSTS, FaultsError, possible, servers
from hotpaths.paths import PATHS

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDS = 50
_HOST_ROUNDS = 3
_REFERENCE_ROUNDS = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and print the tables."""
    options = _options(arguments)
    paths, hosts = ([name for name in options.only if name in known] for known in (PATHS, HOSTS))
    try:
        if options.debug_python:
            rounds = options.rounds or _REFERENCE_ROUNDS
            return 0 if references.show(*references.count(options.debug_python, options.core, rounds, paths)) else 1
        with contextlib.ExitStack() as stack:
            folder = Path(options.keep or stack.enter_context(tempfile.TemporaryDirectory()))
            shim = valgrind.build_shim(folder)
            found = stack.enter_context(servers(hosts))
            is_fine = True
            for names in [*filter(None, [paths]), *([name] for name in possible(hosts, found))]:
                job = {"core": options.core, "names": names, "servers": found}
                rounds = (options.rounds or _ROUNDS) if names is paths else (options.rounds or _HOST_ROUNDS)
                is_fine &= valgrind.show(*valgrind.check(job, rounds, shim, folder), rounds)
            return 0 if is_fine else 1
    except (valgrind.MissingToolError, valgrind.DiedError, FaultsError) as error:
        print(f"memcheck: {error}", file=sys.stderr)
        return os.EX_UNAVAILABLE if isinstance(error, valgrind.MissingToolError) else 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make memcheck", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="TEXT", help="only the path of this name, or those that contain this"
    )
    parser.add_argument("--core", choices=("c", "py"), default="c")
    parser.add_argument(
        "--rounds",
        type=int,
        help=f"{_ROUNDS} under valgrind, {_HOST_ROUNDS} through a whole host, {_REFERENCE_ROUNDS} for references",
    )
    parser.add_argument("--keep", metavar="FOLDER", help="where valgrind's logs are kept")
    parser.add_argument("--debug-python", metavar="PYTHON", help="a debug build, in which references are counted")
    options = parser.parse_args(arguments)
    try:
        options.only = chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    if options.debug_python and not set(options.only) & set(PATHS):
        parser.error(f"--only {options.only[0]}: only valgrind goes through the hosts of `make faults`")
    return options


if __name__ == "__main__":
    sys.exit(main())
