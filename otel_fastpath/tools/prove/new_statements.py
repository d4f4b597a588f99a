"""The statements of a function, compared with those of the releases that this package knows.

What programs do not execute cannot be shown to be the same. Of a changed function, that matters for the statements that
the known releases do not have: `statements.json` has a short digest of each statement of each known function.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from otel_fastpath.patching.sources import syntax

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(__file__).with_name("statements.json")
_DIGITS: Final = 4
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def statements_of(function: Any) -> list[tuple[str, range]]:
    """The digest of each statement of a function or class, and its lines; of a compound one, those of its head.

    Names of local variables do not count.

    Raises:
        OSError, TypeError: Its source is not available.
        SyntaxError: It is not one definition.
    """
    lines, first = inspect.getsourcelines(function)
    node = syntax.remove_inert(syntax.parse_definition("".join(lines)))
    # An indented text is parsed below a line of its own.
    offset = first - (2 if lines[0][:1] in {" ", "\t"} else 1)
    local = _local_names(node)
    return [
        (_digest(each, local), range(each.lineno + offset, _end_of(each) + offset))
        for each in ast.walk(node)
        if isinstance(each, (ast.stmt, ast.ExceptHandler)) and each is not node and hasattr(each, "lineno")
    ]


def _end_of(statement: Any) -> int:
    """The line after a statement, or after the head of a compound one."""
    first: int = statement.lineno
    inner = [block[0] for name in _BLOCKS if (block := getattr(statement, name, None))]
    starts: list[int] = [each.lineno for each in inner if hasattr(each, "lineno")]
    if starts:
        return max(first + 1, min(starts))
    # What was an annotated assignment has no end of its own.
    return 1 + max(getattr(each, "end_lineno", None) or first for each in ast.walk(statement))


def _local_names(node: Any) -> set[str]:
    found = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}
    found |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return found | {each.name for each in ast.walk(node) if isinstance(each, ast.ExceptHandler) and each.name}


class _WithoutNames(ast.NodeTransformer):
    """Gives all local variables one name."""

    def __init__(self, local: set[str]) -> None:
        self._local = local

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(id="_", ctx=node.ctx) if node.id in self._local else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg="_", annotation=node.annotation)


def _digest(statement: Any, local: set[str]) -> str:
    fields = {name: getattr(statement, name) for name in statement._fields if name not in _BLOCKS}
    if isinstance(statement, ast.ExceptHandler):
        fields["name"] = None
    head = type(statement)(**fields)
    text = syntax.text_of(_WithoutNames(local).visit(head))
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def known_statements() -> Mapping[str, frozenset[str]]:
    """The digests of the statements of each known function."""
    content: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        place: frozenset(text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS))
        for place, text in content.items()
    }


def new_lines(function: Any, known: frozenset[str]) -> set[int]:
    """The lines of the statements that are not among the known ones."""
    return {line for digest, lines in statements_of(function) if digest not in known for line in lines}
