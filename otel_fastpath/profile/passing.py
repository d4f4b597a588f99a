"""Which lines of telemetry's functions call what they wrap: from there on, the time is the application's.

An instrumentation's `return wrapped(*args, **kwargs)` runs the application; its `route.matches(scope)` does not, though
both call functions of other packages. They differ in the source: a wrapper calls something that it was given, as an
argument, in a variable of the function around it, or as an attribute with one of a few names. The source of the
functions that occur in a profile is read once, after the profile.
"""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Final

from otel_fastpath.profile.sources import tree_of

if TYPE_CHECKING:
    from collections.abc import Iterator

# Attributes that hold what a wrapper is around: `self.app(scope, receive, send)`, `self.__wrapped__.send(...)`.
_ATTRIBUTES: Final = frozenset(
    {
        "__aenter__", "__aexit__", "__aiter__", "__anext__", "__enter__", "__exit__", "__iter__", "__next__",
        "__wrapped__", "_app", "_func", "_iterator", "_original", "_response", "_stream", "_transport", "_wrapped",
        "_wrapped_app", "app", "func", "original", "stream", "wrapped", "wsgi", "wsgi_app",
    }
)  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@functools.lru_cache(maxsize=4096)
def passes_on(file: str, first_line: int, line: int) -> bool:
    """Whether a function calls what it wraps at this line.

    Args:
        file: The source file.
        first_line: Where the function begins, `co_firstlineno`.
        line: The line that is being executed.
    """
    return any(first <= line <= last for first, last in _lines(file).get(first_line, ()))


@functools.lru_cache(maxsize=512)
def _lines(file: str) -> dict[int, list[tuple[int, int]]]:
    """The first line of each function -> the lines of its calls of what it wraps."""
    found: dict[int, list[tuple[int, int]]] = {}
    _walk(tree_of(file), frozenset(), found)
    return found


def _walk(node: ast.AST, given: frozenset[str], found: dict[int, list[tuple[int, int]]]) -> None:
    """Look at each function below a node, with the names that the functions around it were given."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            names = given | _arguments(child)
            first = min([child.lineno, *(each.lineno for each in getattr(child, "decorator_list", ()))])
            found.setdefault(first, []).extend(
                (each.lineno, each.end_lineno or each.lineno) for each in _own(child) if _is_given(each, names)
            )
            _walk(child, names, found)
        else:
            _walk(child, given, found)


def _arguments(function: _Function) -> frozenset[str]:
    """The names of a function's arguments but `self`, and of the variables that it fills from them by `getattr`."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    names = {each.arg for each in every if each is not None} - {"self", "cls", "tracer", "span"}
    for node in _own_nodes(function):
        # response = await wrapped(...): what a wrapped call returned is passed on, too.
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in names:
                names.add(node.targets[0].id)
    return frozenset(names)


def _own(function: _Function) -> Iterator[ast.expr]:
    """What is called, awaited or iterated in a function itself, with its lines."""
    for node in _own_nodes(function):
        if isinstance(node, ast.Call | ast.Await | ast.YieldFrom):
            yield node
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield node.iter
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from (item.context_expr for item in node.items)


def _own_nodes(function: _Function) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body) if isinstance(function.body, list) else [function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _Function):
            waiting.extend(ast.iter_child_nodes(node))


def _is_given(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether an expression calls, awaits or iterates something that its function was given."""
    if isinstance(node, ast.Await | ast.YieldFrom):
        return node.value is not None and _is_given(node.value, names)
    called = node.func if isinstance(node, ast.Call) else node
    if isinstance(called, ast.Name):
        return called.id in names
    if not isinstance(called, ast.Attribute):
        return False
    if isinstance(called.value, ast.Call) and getattr(called.value.func, "id", "") == "super":
        return True
    return bool(_ATTRIBUTES.intersection(_chain(called)))


def _chain(node: ast.expr) -> Iterator[str]:
    while isinstance(node, ast.Attribute):
        yield node.attr
        node = node.value
