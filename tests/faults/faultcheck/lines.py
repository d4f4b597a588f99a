"""Which lines of this package hold a call: those at which a fault can come up.

Three kinds of calls are none of these. A call that only hands on what the host called (`original(...)`), or calls the
user's hook, is the host's own: what it raises is the host's, and it must not be made a second time. `type(x)`, `id(x)`,
`callable(x)`, `isinstance(x, y)`, `get_ident()`, `X.__new__(X)` and the clocks cannot fail. And a call of a guard fails
inside, where each line with a call is one of those that fail, see `guards`. The C functions of the `.pxd` files fail
where they are called.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from faultcheck import guards

PACKAGE = guards.PACKAGE
# Not in the way of a host: it measures.
LEFT_OUT = f"{PACKAGE}/tools/budget/"
# Of a Cython file, which Python cannot parse: a call that is no definition and no declaration.
_CYTHON_CALL = re.compile(r"\w\(|^\s*(for|with)\s")
_CYTHON_DEFINITION = re.compile(r"^\s*(cdef|cpdef|def|class|cimport|from|import|include|#|\"\"\"|@|ctypedef|extern)\b")


@functools.cache
def relative(filename: str) -> str | None:
    """The name of a file of this package below the repository; None for any other file, and for what is left out."""
    _, found, rest = f"/{filename}".rpartition(f"/{PACKAGE}/")
    name = f"{PACKAGE}/{rest}"
    if not found or name.startswith(LEFT_OUT) or "site-packages" in filename:
        return None
    return name


@functools.cache
def relative_of_stock(filename: str) -> str | None:
    """The name of a file of OpenTelemetry's packages below site-packages; None for any other file."""
    _, found, name = filename.rpartition("/site-packages/")
    return name if found and name.startswith("opentelemetry/") else None


@functools.cache
def with_calls(file: Path) -> frozenset[int]:
    """The lines of a file that hold a call; where one is over several lines, also that of its statement."""
    if file.suffix == ".pxd":
        return frozenset()
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        return _with_calls_in_cython(text.splitlines())
    found: set[int] = set()
    root = Path(str(file.absolute()).rpartition(f"/{PACKAGE}/")[0])
    module = guards.of(file.absolute(), root)
    _collect(module.tree, None, "", module, found)
    return frozenset(found)


def _with_calls_in_cython(lines: list[str]) -> frozenset[int]:
    found, cannot_raise = set(), False
    for number, line in enumerate(lines, 1):
        if line and not line[0].isspace():
            # What is raised in such a function goes nowhere: it is plain C.
            cannot_raise = "noexcept" in line
        if not cannot_raise and _CYTHON_CALL.search(line) and not _CYTHON_DEFINITION.match(line):
            found.add(number)
    return frozenset(found)


def _collect(node: ast.AST, statement: int | None, owner: str, module: guards.Module, found: set[int]) -> None:
    for child in ast.iter_child_nodes(node):
        within = child.lineno if isinstance(child, ast.stmt) else statement
        if isinstance(child, guards.CALLS) and not _is_left_out(child, owner, module):
            found.add(child.target.lineno if isinstance(child, ast.comprehension) else child.lineno)
            # A decorator stands before its statement, which is a line of its own.
            if within is not None and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found.add(within)
        _collect(child, within, child.name if isinstance(child, ast.ClassDef) else owner, module, found)


def _is_left_out(node: ast.AST, owner: str, module: guards.Module) -> bool:
    """Whether it is the host's own call, or one that cannot fail, or fails inside."""
    if isinstance(node, ast.Await):
        return guards.is_awaited_call(node)
    if not isinstance(node, ast.Call):
        return guards.is_of_host(node)
    # With a call among the arguments there is one more, found by itself.
    return guards.is_handed_on(node) or module.is_call_of_guard(node, owner)
