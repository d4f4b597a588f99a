"""Which lines of telemetry's functions call what they were given: from there on, the time is the application's.

An instrumentation's `return wrapped(*args, **kwargs)` runs the application; its `route.matches(scope)` does not, though
both call functions of other packages. They differ in what is called. A wrapper calls a function that it holds: an
argument, a variable of the function around it, an attribute of its own object, or what it made of these. A helper is
a function of a module, or a method of a thing that was given. Which names they have does not matter.

The source of the functions that occur in a profile is read once, after the profile.
"""

from __future__ import annotations

import ast
import functools
from typing import TYPE_CHECKING, Final, NamedTuple

from otel_fastpath.tools.profile.syntax_trees import tree_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Python's own functions whose result stands for their argument, and those that run it.
_STANDING: Final = frozenset({"aiter", "cast", "getattr", "iter", "partial"})
_ITERATING: Final = frozenset({"aiter", "anext", "iter", "list", "next"})
# Python's own methods that run the rest of a generator, and, as `contextvars.Context.run`, their first argument.
_RESUMING: Final = frozenset({"aclose", "asend", "athrow", "close", "send", "throw"})
_RUNNING: Final = frozenset({"run", "run_in_executor", "run_until_complete"})


class _Module(NamedTuple):
    """What is known of a source file.

    Attributes:
        calls: The first line of each function -> the first and last lines where it runs what it was given, and
            whether it calls that there or iterates over it.
        bodies: The first line of each function -> the first line of its body.
        names: A line -> the names of what is called there.
        made: Attributes that hold what a function of another module made, such as `json`'s scanner.
    """

    calls: dict[int, list[tuple[int, int, bool]]]
    bodies: dict[int, int]
    names: dict[int, set[str]]
    made: set[str]


@functools.lru_cache(maxsize=4096)
def passes_on(file: str, first_line: int, line: int, *, is_last: bool = False) -> bool:
    """Whether a function calls what it was given at this line.

    Args:
        file: The source file.
        first_line: Where the function begins, `co_firstlineno`.
        line: The line that is being executed.
        is_last: Whether nothing else has a frame: then it must be a call, of a function of C, for a loop over a list
            that was given is the function's own work.
    """
    module = _module(file)
    # Nothing is called from a function's head, but by one whose code otel-fastpath has exchanged (`swapping.swap`).
    # A function that has just begun is there, too, and has called nothing yet.
    is_exchanged = not is_last and line == first_line < module.bodies.get(first_line, 0)
    return is_exchanged or any(
        first <= line <= last and (is_call or not is_last) for first, last, is_call in module.calls.get(first_line, ())
    )


def may_call(file: str, first_line: int, line: int, names: Collection[str]) -> bool:
    """Whether a function may call one of these at this line: by name, or because it calls what it was given.

    A function that has just begun may have been called after one of them.

    Args:
        file: The source file.
        first_line: Where the function begins.
        line: The line that is being executed.
        names: The names of functions.
    """
    module = _module(file)
    called = module.names.get(line, set())
    is_unknown = line == first_line or not module.names
    if is_unknown or not called.isdisjoint(names):
        return True
    return not called <= module.made and passes_on(file, first_line, line)


@functools.lru_cache(maxsize=512)
def _module(file: str) -> _Module:
    tree = tree_of(file)
    module = _Module({}, {}, {}, set())
    _note_names(tree, module)
    stored = frozenset(_stored(tree))
    _walk(tree, _CallScope(frozenset(), frozenset(), stored), module, in_class=False)
    return module


def _stored(tree: ast.AST) -> Iterator[str]:
    """The attributes that are set to an argument anywhere in the file: `self._wrapped = wrapped`."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            names = _arguments(function)
            for node in _own_nodes(function):
                if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
                    yield from (each.attr for each in node.targets if isinstance(each, ast.Attribute))


class _CallScope(NamedTuple):
    """What a function can call.

    Attributes:
        held: The names of what it was given: arguments, variables of the functions around it, and what it made of them.
        own: The names of its own object, as `self`.
        stored: Attributes that hold what somebody was given.
        name: The name of the function.
    """

    held: frozenset[str]
    own: frozenset[str]
    stored: frozenset[str]
    name: str = ""

    def holds(self, node: ast.expr | None) -> bool:
        """Whether an expression is something that the function was given, or a part or result of it."""
        match node:
            case ast.Name():
                return node.id in self.held or node.id in self.own
            case ast.Attribute() | ast.Subscript() | ast.Starred() | ast.Await():
                return self.holds(node.value)
            case ast.IfExp():
                return self.holds(node.body) or self.holds(node.orelse)
            case ast.BoolOp():
                return any(map(self.holds, node.values))
            case ast.Call():
                return self.is_passing(node) or self._is_function_of(_STANDING, node)
        return False

    def is_passing(self, node: ast.expr | None) -> bool:
        """Whether an expression calls, awaits or iterates something that the function was given."""
        match node:
            case ast.Await() | ast.YieldFrom():
                return self.is_passing(node.value)
            case ast.Call():
                return self._is_given(node.func) or self._is_run(node)
        return self._is_given(node)

    def _is_given(self, called: ast.expr | None) -> bool:
        match called:
            case ast.Name():
                return called.id in self.held
            case ast.Subscript() | ast.Call():
                return self.holds(called)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
                return True
            case ast.Attribute(value=ast.Name(id=name)) if name in self.own:
                # A method of its own is telemetry. What is not, was stored there.
                return True
            case ast.Attribute():
                is_of_given = self.holds(called.value)
                return is_of_given and (
                    called.attr in self.stored or called.attr in _RESUMING or self._is_delegated(called)
                )
        return False

    def _is_delegated(self, called: ast.Attribute) -> bool:
        """Whether it is the method of the same name, one of Python's protocols, or of a wrapper's `__wrapped__`."""
        if called.attr == self.name or (called.attr.startswith("__") and called.attr.endswith("__")):
            return True
        return isinstance(called.value, ast.Attribute) and self._is_delegated(called.value)

    def _is_run(self, node: ast.Call) -> bool:
        """Whether a function of Python runs what was given, as `next(iterator)` and `context.run(function)` do."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in _RUNNING:
            return any(map(self.holds, node.args[:2]))
        return self._is_function_of(_ITERATING, node)

    def _is_function_of(self, names: frozenset[str], node: ast.Call) -> bool:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in names and any(map(self.holds, node.args[:2]))


def _walk(node: ast.AST, scope: _CallScope, module: _Module, *, in_class: bool) -> None:
    """Look at each function below a node, with what the functions around it hold."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            own = scope.own | _own_object(child, in_class=in_class)
            inner = scope._replace(
                held=(scope.held | _arguments(child)) - own, own=own, name=getattr(child, "name", scope.name)
            )
            inner = _with_variables(child, inner)
            first = min([child.lineno, *(each.lineno for each in getattr(child, "decorator_list", ()))])
            body = child.body if isinstance(child.body, list) else [child.body]
            module.bodies.setdefault(first, body[0].lineno)
            module.calls.setdefault(first, []).extend(
                (each.lineno, each.end_lineno or each.lineno, isinstance(each, ast.Call | ast.Await))
                for each in _own(child)
                if inner.is_passing(each)
            )
            module.made.update(_made(child, inner))
            # Functions inside of it see all of its variables, whatever it made them of.
            _walk(child, inner._replace(held=(inner.held | _variables(child)) - own), module, in_class=False)
        else:
            _walk(child, scope, module, in_class=in_class or isinstance(child, ast.ClassDef))


def _made(function: _Function, scope: _CallScope) -> Iterator[str]:
    """The attributes of its own object that a function sets to what it calls, if that was not given to it."""
    for target, value in _assignments(function):
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Call) and not scope.holds(value):
            root: ast.expr = value.func
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id not in scope.held | scope.own:
                yield target.attr


def _note_names(tree: ast.AST, module: _Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                module.names.setdefault(line, set()).add(name)


def _arguments(function: _Function) -> frozenset[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    return frozenset(each.arg for each in every if each is not None)


def _own_object(function: _Function, *, in_class: bool) -> frozenset[str]:
    """The first argument of a method, and of a function that replaces one."""
    decorators = {getattr(each, "id", "") for each in getattr(function, "decorator_list", ())}
    first = next((each.arg for each in (*function.args.posonlyargs, *function.args.args)), "")
    is_method = first in {"self", "cls"} or (in_class and "staticmethod" not in decorators)
    return frozenset({first}) if first and is_method else frozenset()


def _with_variables(function: _Function, scope: _CallScope) -> _CallScope:
    """The scope with the variables that a function fills from what it was given."""
    pairs = list(_assignments(function))
    while True:
        more = (
            {name for target, value in pairs if scope.holds(value) for name in _names(target)} - scope.held - scope.own
        )
        if not more:
            return scope
        scope = scope._replace(held=scope.held | more)


def _assignments(function: _Function) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    for node in _own_nodes(function):
        match node:
            case ast.Assign():
                for target in node.targets:
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        yield from zip(target.elts, node.value.elts, strict=False)
                    else:
                        yield target, node.value
            case ast.AnnAssign() | ast.NamedExpr():
                yield node.target, node.value
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                yield node.target, node.iter
            case ast.withitem() if node.optional_vars is not None:
                yield node.optional_vars, node.context_expr


def _variables(function: _Function) -> frozenset[str]:
    """The variables of a function that are assigned, but not by `def`, `class` or `import`."""
    return frozenset(name for target, _ in _assignments(function) for name in _names(target))


def _names(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for each in target.elts:
            yield from _names(each)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


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
        if not isinstance(node, _Function | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))
