"""Digests what a definition does, and not how it is written: its syntax tree, without what has no effect when it runs.

Left out are comments, layout, docstrings, `pass`, and annotations, except where the code can read them when it runs;
and what only a type checker needs or a linter asks for: `typing.cast`, the module of `typing.Iterable`, the name of a
dataclass field's type, and the generator in `tuple(each for each in values)`.
The digest of a definition is the same on CPython 3.10 to 3.15, whose own `ast.dump` differ.
"""

from __future__ import annotations

import ast
import hashlib
from typing import Any, Final, TypeAlias

Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
# Decorators that do not read the annotations of a function; others may, as `functools.singledispatch`'s `register`.
_BLIND: Final = frozenset(
    {
        "_agnosticcontextmanager",
        "_check_span_ended",
        "abstractmethod",
        "asynccontextmanager",
        "cache",
        "cached_property",
        "classmethod",
        "contextmanager",
        "deprecated",
        "final",
        "lru_cache",
        "overload",
        "override",
        "property",
        "setter",
        "staticmethod",
        "wraps",
    }
)
# Names by which code reads docstrings and annotations.
_DOCSTRING_READERS: Final = frozenset({"__doc__", "getdoc"})
_ANNOTATION_READERS: Final = frozenset(
    {"__annotations__", "__annotate__", "get_annotations", "get_type_hints", "signature"}
)
# What `dataclasses.dataclass` reads of the annotations of a class.
_FIELD_KINDS: Final = ("ClassVar", "InitVar", "KW_ONLY")
_COLLECTIONS: Final = frozenset({"frozenset", "list", "set", "tuple"})
# Fields that other fields imply or that have no effect; not every version of Python has all of them.
_IDLE: Final = frozenset({"ctx", "kind", "simple", "type_comment", "type_ignores"})


def parse_definition(text: str) -> Definition:
    """The only definition in this text, which may be indented.

    Raises:
        SyntaxError: The text is not Python, or not exactly one definition.
    """
    # Text is not dedented: that would change the strings in it that have several lines.
    tree: Any = ast.parse(f"if 1:\n{text}" if text[:1] in {" ", "\t"} else text)
    body = tree.body[0].body if text[:1] in {" ", "\t"} else tree.body
    if len(body) != 1 or not isinstance(body[0], (*_FUNCTIONS, ast.ClassDef)):
        raise SyntaxError("not exactly one definition")
    definition: Definition = body[0]
    return definition


def digest(node: Definition) -> str:
    """The first 12 hex digits of the SHA-256 of what the definition does. Changes the node as `remove_inert` does."""
    return hashlib.sha256(text_of(remove_inert(node)).encode()).hexdigest()[:12]


def text_of(node: ast.AST) -> str:
    """A tree as text, which is the same with every version of Python."""
    parts: list[str] = []
    _write(node, parts)
    return "".join(parts)


def remove_inert(node: Definition) -> Definition:
    """Take out, in place, what has no effect: definitions that do the same then have the same `ast.unparse`."""
    names = _names(node)
    reducer = _Reducer(docstrings=bool(names & _DOCSTRING_READERS), annotations=bool(names & _ANNOTATION_READERS))
    result: Definition = reducer.visit(node)
    return result


def _write(value: Any, parts: list[str]) -> None:
    """Write a tree in the same way with every version of Python: without the fields that are empty."""
    if isinstance(value, ast.Constant):
        parts.append(f"{type(value.value).__name__}:{value.value!a}")
    elif isinstance(value, ast.AST):
        parts.append(f"{type(value).__name__}(")
        for name in value._fields:
            child = getattr(value, name, None)
            if name in _IDLE or child is None or child == [] or (type(child) is int and child == 0):
                continue
            parts.append(f"{name}=")
            _write(child, parts)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for each in value:
            _write(each, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(ascii(value))


class _Reducer(ast.NodeTransformer):
    """Takes out what has no effect.

    Args:
        docstrings: Whether docstrings stay.
        annotations: Whether all annotations stay.
    """

    def __init__(self, *, docstrings: bool, annotations: bool) -> None:
        self._docstrings = docstrings
        self._annotations = annotations
        # Of the innermost definition: whether the annotations of variables stay, and whether it is a function or a
        # dataclass.
        self._keeps = annotations
        self._in_function = self._in_dataclass = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                kept = [each for each in block if not self._is_idle(each)]
                setattr(node, field, kept or ([ast.Pass()] if field == "body" else []))
        return node

    def _is_idle(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return not (self._docstrings and isinstance(statement.value.value, str))
        return isinstance(statement, ast.Pass)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # A decorator or a base class may read the annotations, as those of dataclasses and named tuples do.
        reads = bool(node.decorator_list or node.bases or node.keywords)
        decorators = {_called(each) for each in node.decorator_list}
        is_dataclass = decorators == {"dataclass"} and not (node.bases or node.keywords or self._annotations)
        return self._inside(node, keeps=self._annotations or reads, in_dataclass=is_dataclass)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if not self._annotations and all(_called(each) in _BLIND for each in node.decorator_list):
            node.returns = None
            arguments = node.args
            for each in (
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ):
                if each is not None:
                    each.annotation = None
        return self._inside(node, keeps=self._annotations, in_function=True)

    def _inside(
        self, node: Definition, *, keeps: bool, in_function: bool = False, in_dataclass: bool = False
    ) -> ast.AST:
        outer = self._keeps, self._in_function, self._in_dataclass
        self._keeps, self._in_function, self._in_dataclass = keeps, in_function, in_dataclass
        try:
            return self.generic_visit(node)
        finally:
            self._keeps, self._in_function, self._in_dataclass = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        if self._keeps:
            is_any_name = isinstance(node.annotation, ast.Name) and node.annotation.id not in _FIELD_KINDS
            is_idle = self._in_dataclass and is_any_name
            node.annotation = ast.Constant(value=...) if is_idle else _Unions().visit(node.annotation)
            return self.generic_visit(node)
        if node.value is not None:
            return self.generic_visit(ast.Assign(targets=[node.target], value=node.value, lineno=node.lineno))
        # In a function it makes the name a local variable.
        if self._in_function and isinstance(node.target, ast.Name):
            node.annotation = ast.Constant(value=...)
            return node
        return None

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        return ast.Name(id=node.attr, ctx=node.ctx) if _is_of_typing(node) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_cast = _is_of_typing(node.func) and _called(node.func) == "cast"
        self.generic_visit(node)
        match node.args:
            case [_, value] if is_cast and not node.keywords:
                return value
            case [ast.GeneratorExp(ast.Name(id=each), [ast.comprehension(ast.Name(id=same), values, [], 0)])]:
                if each == same and isinstance(node.func, ast.Name) and node.func.id in _COLLECTIONS:
                    node.args = [values]
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """Join the parts of an f-string's text, which the versions of Python split in different ways."""
        self.generic_visit(node)
        values: list[ast.expr] = []
        for each in node.values:
            last = values[-1] if values else None
            if isinstance(each, ast.Constant) and isinstance(last, ast.Constant):
                values[-1] = ast.Constant(value=str(last.value) + str(each.value))
            elif not isinstance(each, ast.Constant) or each.value != "":
                values.append(each)
        node.values = values
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.format_spec, ast.JoinedStr) and not node.format_spec.values:
            node.format_spec = None
        return node


class _Unions(ast.NodeTransformer):
    """Writes every union of an annotation as `A | B`: tools that modernize code change only its notation."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        name = _called(node.value)
        if name == "Optional":
            return _union(node.slice, ast.Constant(value=None))
        if name == "Union":
            return _union(*(node.slice.elts if isinstance(node.slice, ast.Tuple) else (node.slice,)))
        return node


def _union(first: ast.expr, *others: ast.expr) -> ast.expr:
    for other in others:
        first = ast.BinOp(left=first, op=ast.BitOr(), right=other)
    return first


def _is_of_typing(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "typing"


def _called(decorator: ast.expr) -> str:
    """The last name of a decorator: "wraps" of `@functools.wraps(f)`."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(function, "attr", getattr(function, "id", ""))


def _names(node: ast.AST) -> set[str]:
    """The names and attributes that the code uses, and its strings, because `getattr` takes a name as a string."""
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            found.add(each.id)
        elif isinstance(each, ast.Attribute):
            found.add(each.attr)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            found.add(each.value)
    return found
