"""Goes through the hot paths under valgrind's memcheck, or in a debug build of Python that counts references.

    make memcheck ARGS="--only span"
    make memcheck DEBUG_PYTHON=/usr/bin/python3.14d

Exit status 1 means that something is wrong with memory, or references are lost; 2 that it could not be looked at.
"""
# ruff: noqa: T201  # a program that prints

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent))

from hotpaths import references, valgrind

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROUNDS = 50
_REFERENCE_ROUNDS = 1000


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and print the tables."""
    options = _options(arguments)
    try:
        if options.debug_python:
            rounds = options.rounds or _REFERENCE_ROUNDS
            return (
                0 if references.show(*references.count(options.debug_python, options.core, rounds, options.only)) else 1
            )
        rounds = options.rounds or _ROUNDS
        with tempfile.TemporaryDirectory() as folder:
            ours, stock = valgrind.check(options.core, rounds, options.only, Path(options.keep or folder))
            return 0 if valgrind.show(ours, stock, rounds) else 1
    except valgrind.MissingToolError as error:
        print(f"memcheck: {error}", file=sys.stderr)
        return 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make memcheck", description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="only paths whose names contain this")
    parser.add_argument("--core", choices=("c", "py"), default="c")
    parser.add_argument("--rounds", type=int, help=f"{_ROUNDS} under valgrind, {_REFERENCE_ROUNDS} for references")
    parser.add_argument("--keep", metavar="FOLDER", help="where valgrind's logs are kept")
    parser.add_argument("--debug-python", metavar="PYTHON", help="a debug build, in which references are counted")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
