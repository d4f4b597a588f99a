"""The syntax trees of the files that occur in a profile."""

from __future__ import annotations

import ast
from pathlib import Path


def tree_of(file: str) -> ast.Module:
    """The syntax tree of a source file, empty if there is no such file or it is not Python's."""
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])
