"""The statements of a function, compared with those of the releases that this package knows.

What programs do not execute cannot be shown to be the same. Of a changed function, that matters for the statements that
the known releases do not have, and for the blocks in which these have others: `statements.json` has a short digest of
each statement of each known function, and of the block that it stands in.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from otel_fastpath.patching.sources import syntax

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE: Final = Path(__file__).with_name("statements.json")
_DIGITS: Final = 4
_BLOCKS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


class Statement(NamedTuple):
    """A statement, or the head of a compound one.

    Attributes:
        digest: Of what it does; names of local variables do not count.
        block: Likewise of the head and the part of the compound statement that it is in; "" in the function itself.
        lines: Its lines.
    """

    digest: str
    block: str
    lines: range


def statements_of(function: Any) -> list[Statement]:
    """The statements of a function or class.

    Raises:
        OSError, TypeError: Its source is not available.
        SyntaxError: It is not one definition.
    """
    lines, first = inspect.getsourcelines(function)
    node = syntax.remove_inert(syntax.parse_definition("".join(lines)))
    # An indented text is parsed below a line of its own.
    offset = first - (2 if lines[0][:1] in {" ", "\t"} else 1)
    return list(_statements(node, "", offset, _local_names(node)))


def _statements(node: Any, digest: str, offset: int, local: set[str]) -> Iterator[Statement]:
    """The statements in a compound statement with this digest, and in those inside of it."""
    for name in _BLOCKS:
        block = _short(f"{digest} {name}") if digest else ""
        for each in getattr(node, name, ()):
            own = _digest(each, local)
            if hasattr(each, "lineno"):
                yield Statement(own, block, range(each.lineno + offset, _end_of(each) + offset))
            yield from _statements(each, own, offset, local)


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
    return _short(syntax.text_of(_WithoutNames(local).visit(head)))


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def as_text(statements: list[Statement]) -> str:
    """The digests of statements and of their blocks, as `statements.json` has them."""
    return " ".join(sorted({f"{each.digest}{each.block}" for each in statements}))


def known_statements() -> Mapping[str, str]:
    """Those of each known function."""
    found: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def unshown_lines(function: Any, known: str, missed: set[int]) -> list[int]:
    """The lines of a changed function that have to be executed to show that it does the same, and are not.

    These are the lines of new statements, and those of a block that has lost a statement, if none of it is executed.

    Args:
        function: The function.
        known: The known statements of it, as `as_text` returns them; "" if it is not known.
        missed: The lines that are not executed.
    """
    statements = statements_of(function)
    before = {each[:_DIGITS]: each[_DIGITS:] for each in known.split()}
    found = {line for each in statements if each.digest not in before for line in each.lines} & missed
    gone = before.keys() - {each.digest for each in statements}
    for block in {before[digest] for digest in gone} - {""}:
        lines = {line for each in statements if each.block == block for line in each.lines}
        if lines <= missed:
            # Of a block that is empty now, nothing can be executed.
            found |= lines or set(_head_of(block, statements))
    return sorted(found)


def _head_of(block: str, statements: list[Statement]) -> Iterator[int]:
    """The lines of the head of the compound statement with this block."""
    for each in statements:
        if block in {_short(f"{each.digest} {name}") for name in _BLOCKS}:
            yield from each.lines
