"""Finds a function or class in source text without importing it, and digests it as the guards do at run time.

Guards start from `inspect.getsource`. So the text of a definition is cut out by the same function of the standard
library, from its first decorator on; where its lines start is read off the syntax tree.
"""

from __future__ import annotations

import ast
import functools
import inspect
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from otel_fastpath.patching.sources import syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"
_MAX_ALIASES = 5


class NotFoundError(Exception):
    """The target is not in this release, or cannot be told from others; the message says why."""


def fingerprint(roots: Sequence[Path], target: str) -> str:
    """The fingerprint of "module:qualified.name", read from unpacked distributions.

    Raises:
        NotFoundError: The module or the definition is not there, or there are several.
    """
    return syntax.digest(syntax.parse_definition(text_of(roots, target)))


def text_of(roots: Sequence[Path], target: str) -> str:
    """The text of "module:qualified.name": see `source`."""
    module, _, name = target.partition(":")
    return source(roots, module, name.split("."))


_parsed = functools.lru_cache(maxsize=256)(ast.parse)


def source(roots: Sequence[Path], module: str, path: list[str], aliases: int = 0) -> str:
    """The text of a definition, comments and decorators included.

    A name that the module only imports is looked up where it comes from, and what a class inherits in its bases, as at
    run time.

    Raises:
        NotFoundError: See `fingerprint`.
    """
    file = module_file(roots, module)
    text = file.read_text(encoding="utf-8")
    tree = _parsed(text)
    try:
        node = _definition(tree, path)
    except NotFoundError:
        if aliases >= _MAX_ALIASES:
            raise
        for base in _bases(tree, path[:-1]):
            with suppress(NotFoundError):
                return source(roots, module, [base, path[-1]], aliases + 1)
        origin = _imported_from(tree, module, path[0], is_package=file.name == "__init__.py")
        if origin is None:
            raise
        return source(roots, origin[0], [origin[1], *path[1:]], aliases + 1)
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    return "".join(inspect.getblock(text.splitlines(keepends=True)[first - 1 :]))


def module_file(roots: Sequence[Path], module: str) -> Path:
    """The file of a module in the first of the unpacked distributions that has it.

    Raises:
        NotFoundError: There is none.
    """
    for root in roots:
        base = root.joinpath(*module.split("."))
        for file in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if file.exists():
                return file
    raise NotFoundError(f"no module {module}")


def _definition(tree: ast.Module, path: Iterable[str]) -> Definition:
    scope: ast.Module | Definition = tree
    for part in path:
        if part == "<locals>":
            continue
        found = [(block, node) for block, node in _definitions(scope.body, 0) if node.name == part]
        if not found:
            raise NotFoundError(f"no definition of {part}")
        if len({block for block, _ in found}) > 1:
            raise NotFoundError(f"several definitions of {part}, which one holds is decided at run time")
        scope = found[-1][1]
    if isinstance(scope, ast.Module):
        raise NotFoundError("no name")
    return scope


def _bases(tree: ast.Module, path: Sequence[str]) -> list[str]:
    """The base classes of a class that the module has by a plain name; none if it does not define the class.

    A base that has another form is left out. If it has the attribute, the text of another is read, which no guard
    accepts at run time.
    """
    try:
        node = _definition(tree, path)
    except NotFoundError:
        return []
    return [base.id for base in node.bases if isinstance(base, ast.Name)] if isinstance(node, ast.ClassDef) else []


def _definitions(body: Iterable[ast.stmt], block: int) -> Iterator[tuple[int, Definition]]:
    """What a body defines in its own scope, with the line of the conditional block that it stands in."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not _is_variant(node):
                yield block, node
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            parts = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            parts += [handler.body for handler in getattr(node, "handlers", [])]
            for part in parts:
                if part and not _is_for_types_only(node, part):
                    yield from _definitions(part, part[0].lineno)


def _is_variant(node: Definition) -> bool:
    """Whether it is a property's setter or an overload: the object of that name has the source of another."""
    return any(
        (isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter", "overload"})
        or (isinstance(decorator, ast.Name) and decorator.id == "overload")
        for decorator in node.decorator_list
    )


def _is_for_types_only(node: ast.stmt, part: list[ast.stmt]) -> bool:
    """Whether a block is that of an `if TYPE_CHECKING`."""
    return isinstance(node, ast.If) and part is node.body and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _imported_from(tree: ast.Module, module: str, name: str, *, is_package: bool) -> tuple[str, str] | None:
    """The module and the name in it that a module-level `from ... import` binds to this name."""
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            if (alias.asname or alias.name) == name:
                parts = module.split(".")[: -node.level + is_package or None] if node.level else []
                return ".".join([*parts, *([node.module] if node.module else [])]), alias.name
    return None
