"""Which functions of this package are guards: whatever fails in them, no `Exception` leaves them.

Read off their source: each call in such a function stands in a `try` whose `except Exception` raises nothing and holds
only calls of guards, or is itself a call of a guard, or hands on what the host called: what that raises is the host's.
That a guard is called is then no place where a fault comes up; the lines inside of it are. What runs out of memory or
stack at the call itself is not looked at.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from otel_fastpath.compiled import TWINS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PACKAGE = "otel_fastpath"
_HOT = {twin.removesuffix("_c").replace(".", "_"): twin.removesuffix("_c") for twin in TWINS}
CALLS = (ast.Call, ast.With, ast.AsyncWith, ast.Await, ast.For, ast.AsyncFor, ast.comprehension)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What the host's own call is called here, stock's methods that stand for it, and what makes it with guards around it.
_HANDED_ON = re.compile(
    r"(original|host|coroutine|factory|function|_stock_\w+|next|__anext__|_?wrapped|app|wsgi|wsgi_app|handler|start_response"
    r"|_receive|_send|_twin|twin|close|hook|_hook|\w+_hook"
    r"|invoker|_start_span|_trace_result|extract|inject|serve|call|call_async|_open|process_\w+|copying|handle|_end_further)$"
)
_INSTEAD = {"otherwise", "_otherwise"}
_DECORATOR = "never_raises"
_WIDE = {"Exception", "BaseException"}
# Arguments that must not raise, as the functions say that take them; the lines of what is given fail.
_GIVEN = {"enter", "during", "on_begin", "on_done", "on_failed"}
_CANNOT_FAIL = {"type", "id", "callable", "get_ident", "isinstance", "default_timer", "perf_counter", "time_ns"}
_CANNOT_FAIL |= {"__new__"}
# The guards themselves: two of them raise again what asks the host to stop, which is no fault.
_TRUSTED = {
    "patching/outcome.py": {"call_guarded", "call_guarded_during", "absorb_during"},
    # They raise again what is not ours, or only read a traceback.
    "patching/faults.py": {
        *("absorb", "absorb_any", "blame_others", "is_interruption", "ours"),
        *("raise_interruption", "raise_others", "report", "report_any"),
    },
    "http/server.py": {"ServerRequest.is_malformed", "RequestChooser.is_malformed"},
    # They only make an object or a function, or set its fields or its class.
    "messaging/stock_messages.py": {"again"},
    "compiled/helpers.py": {"drop_finalizer"},
    "wrapping/call_span.py": {"new_call", "new_query"},
    "genai/openai/calls.py": {"new_call"},
    "db/not_begun.py": {"_resumed"},
    # Its attributes are the `new_query` above and `QueryMaker.new`.
    "db/database.py": {"Database.new_query", "Database.try_new_query"},
    "http/servers/activations.py": {"OpenActivation"},
    # It tries again with the runtime context's own method. What that raises, too, is not looked at.
    "trace/context/current_context.py": {"restore"},
    # They only read and write fields of one object.
    "trace/context/scope.py": {"try_leave"},
    "metrics/instruments/exemplars.py": {"_take"},
    "http/fastapi/requests.py": {"FastapiRequest.announce"},
    # What `make_extract`, `make_inject` and `bind_get` make: their calls, beside stock's own, are in a `try`.
    "trace/propagation/replacing.py": {"fast"},
    **dict.fromkeys(("metrics/patches_recording.py", "trace/patches_tracer.py"), frozenset({"get"})),
    # It writes to a dict, or calls what the host has given.
    "trace/propagation/carriers.py": {"put"},
}
# What holds one call of the host is named so, and is of one of these classes.
_CALLS = (
    ("wrapping/call_span.py", "Call"),
    ("wrapping/call_span.py", "QueryCall"),
    ("genai/openai/calls.py", "OpenAICall"),
    ("cloud/botocore/aws_calls.py", "AwsCall"),
)
_HOLDERS = {
    "call": _CALLS,
    "_call": _CALLS,
    "made": _CALLS[:1],
    "ending": (*_CALLS[:2], ("db/psycopg/pipelines.py", "Submission")),
    "set_up": (
        ("http/client.py", "ClientInstrumentation"),
        ("http/aiohttp_client/calls.py", "AiohttpClientInstrumentation"),
    ),
    "request": tuple(
        (f"http/{place}.py", name)
        for place, name in (
            ("asgi/requests", "AsgiRequest"),
            ("fastapi/requests", "FastapiRequest"),
            ("wsgi/middleware", "WsgiRequest"),
            ("server", "ServerRequest"),
        )
    ),
    "begun": tuple(
        (f"http/{place}.py", name)
        for place, name in (
            ("clients/outgoing", "ClientCall"),
            ("server", "ServerRequest"),
            ("aiohttp_server/requests", "AiohttpRequest"),
            ("django/middleware", "DjangoRequest"),
        )
    ),
    "_requests": (("http/server.py", "RequestChooser"),),
    "labels": (("http/servers/server_metrics.py", "RequestLabels"),),
    "activation": (("http/servers/activations.py", "Activation"),),
    **dict.fromkeys(("database", "_database", "DATABASE"), (("db/database.py", "Database"),)),
    # See `Database.entrance`.
    "entrance": (
        *(("db/entering.py", kind) for kind in ("Commands", "Connections", "Cursors", "Openings", "QueryMaker")),
        ("db/outer.py", "Statements"),
        ("db/outer.py", "Transactions"),
        ("db/sqlalchemy/hooks.py", "ByEngineOpener"),
    ),
    "pending": (("db/psycopg2/hooks.py", "PolledCall"),),
    "attempt": (("db/asyncpg/connecting.py", "_Attempt"),),
    "replacements": (("wrapping/replacements.py", "Replacements"),),
    "closing": (("db/entering.py", "Started"),),
}


class Module:
    """A file of the package: its functions, and which of them are guards.

    Args:
        file: The file.
        root: The folder that holds the package.

    Attributes:
        tree: Its source.
        names: The guards among its functions, "Class.method" for methods, and of what it imports.
    """

    def __init__(self, file: Path, root: Path) -> None:
        self.tree = ast.parse(file.read_text(encoding="utf-8"))
        self._root = root
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self._bases: dict[str, list[str]] = {}
        self._modules: dict[str, Module] = {}
        self.names = set(_TRUSTED.get(file.relative_to(root / PACKAGE).as_posix(), ()))
        self._collect(self.tree, "")
        _modules[file] = self
        self._import()
        self._take_hot()
        while self._grow():
            pass

    def _collect(self, node: ast.AST, owner: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                self._bases[child.name] = [_name(base) for base in child.bases]
                self._collect(child, child.name)
            elif isinstance(child, _FUNCTIONS):
                # Those within it are not looked at: they have no name outside.
                self._functions[f"{owner}.{child.name}" if owner else child.name] = child
            else:
                self._collect(child, owner)

    def _import(self) -> None:
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(PACKAGE):
                continue
            if {each.name for each in node.names} == {"hot"}:
                # It names every hot module; what is taken from it is looked at below.
                continue
            source = self._at(str(node.module))
            for each in node.names:
                inner = self._at(f"{node.module}.{each.name}")
                if inner is not None:
                    self._modules[each.asname or each.name] = inner
                elif source is not None and each.name == "*":
                    self.names |= source.names
                elif source is not None:
                    found = [name for name in source.names if name == each.name or name.startswith(f"{each.name}.")]
                    self.names.update(name.replace(each.name, each.asname or each.name, 1) for name in found)
                    self._inherit(each.asname or each.name, source, each.name)

    def _inherit(self, name: str, source: Module, original: str) -> None:
        """What an imported class inherits from."""
        bases = source._bases.get(original)
        if bases is not None and name not in self._bases:
            self._bases[name] = bases
            for base in bases:
                self.names.update(each for each in source.names if each.startswith(f"{base}."))
                self._inherit(base, source, base)

    def _take_hot(self) -> None:
        """What is taken from a hot module: `begin = hot.wrapping_call_span.begin`, or by a name of it."""
        for target, value in _assigned(self.tree):
            name = _name(target)
            if (whole := self._hot(value)) is not None:
                self._modules[name] = whole
                continue
            if not isinstance(value, ast.Attribute):
                continue
            inner = value.value
            module = self._modules.get(inner.id) if isinstance(inner, ast.Name) else self._hot(inner)
            if module is not None and value.attr in module.names:
                self.names.add(name)

    def _hot(self, node: ast.expr) -> Module | None:
        """The module of `hot.wrapping_call_span`."""
        if isinstance(node, ast.Attribute) and _name(node.value) == "hot" and node.attr in _HOT:
            return self._at(f"{PACKAGE}.{_HOT[node.attr]}")
        return None

    def _at(self, module: str) -> Module | None:
        file = self._root.joinpath(*module.split(".")).with_suffix(".py")
        return of(file, self._root) if file.exists() else None

    def _grow(self) -> bool:
        """Whether there are more guards than before, now that others are known."""
        before = len(self.names)
        for name, function in self._functions.items():
            if name not in self.names and self._is_guard(name, function):
                self.names.add(name)
        return len(self.names) > before

    def _is_guard(self, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        if any(isinstance(each, ast.Call) and _name(each.func) == _DECORATOR for each in function.decorator_list):
            return True
        owner = name.rpartition(".")[0]
        # Another decorator may do anything. What only happens to hold no call is no guard: it may come to hold one.
        return (
            not function.decorator_list
            and any(self._is_guarding(each, owner) for each in _own(function))
            and self._is_safe(function.body, owner)
        )

    def _is_guarding(self, node: ast.AST, owner: str) -> bool:
        if isinstance(node, ast.Try):
            return any(_is_wide(each) for each in node.handlers)
        return (
            isinstance(node, ast.Call) and _name(node.func) not in _CANNOT_FAIL and self.is_call_of_guard(node, owner)
        )

    def _is_safe(self, nodes: list[ast.stmt], owner: str) -> bool:
        return all(self._cannot_raise(each, owner) for each in nodes)

    def _cannot_raise(self, node: ast.AST, owner: str) -> bool:
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            return not node.decorator_list
        if isinstance(node, ast.Lambda) or _is_sorting_out(node):
            return True
        if isinstance(node, (ast.Raise, ast.Assert)):
            # Alone it is in an `except`: what it raises again has come of a `try` that is looked at as well.
            return isinstance(node, ast.Raise) and node.exc is None
        if isinstance(node, ast.Try) and (_is_cleaning_up(node) or any(map(_is_wide, node.handlers))):
            handled = [line for each in node.handlers for line in each.body]
            first = node.body if _is_cleaning_up(node) else handled
            return self._is_safe([*first, *node.orelse, *node.finalbody], owner)
        if isinstance(node, CALLS) and not self._is_safe_call(node, owner):
            return False
        return all(self._cannot_raise(each, owner) for each in ast.iter_child_nodes(node))

    def _is_safe_call(self, node: ast.AST, owner: str) -> bool:
        if isinstance(node, ast.Await):
            return is_awaited_call(node)
        return isinstance(node, ast.Call) and (is_handed_on(node) or self.is_call_of_guard(node, owner))

    def is_call_of_guard(self, node: ast.Call, owner: str) -> bool:
        """Whether no `Exception` comes of this call, made in a method of this class or in none.

        What its arguments take to be made is not looked at.
        """
        function = node.func
        if isinstance(function, ast.Name):
            return function.id in self.names or function.id in _CANNOT_FAIL | _GIVEN or _is_bool_of_call(node)
        if not isinstance(function, ast.Attribute) or _name(function.value) == "_logger" or function.attr == "__new__":
            # Handlers of logging keep their errors to themselves.
            return isinstance(function, ast.Attribute) and (function.attr != "__new__" or _is_empty_object(node))
        if isinstance(function.value, ast.Call) and _name(function.value.func) == "hot":
            hot = self._hot(function.value)
            return hot is not None and function.attr in hot.names
        holder = _name(function.value)
        if holder in self._modules and (isinstance(function.value, ast.Name) or holder not in _HOLDERS):
            return function.attr in self._modules[holder].names
        # `Base.method(self)` is a method of a base.
        kind = owner if holder == "self" else holder if holder in self._bases else ""
        if kind:
            return self.has(kind, function.attr)
        found = [
            (module, kind)
            for place, kind in _HOLDERS.get(holder, ())
            for module in (of(self._root / PACKAGE / place, self._root),)
            if module.defines(kind, function.attr)
        ]
        return bool(found) and all(module.has(kind, function.attr) for module, kind in found)

    def defines(self, kind: str, method: str) -> bool:
        """Whether the class defines the method itself, or has an attribute that is trusted as one."""
        return f"{kind}.{method}" in self._functions or f"{kind}.{method}" in self.names

    def has(self, kind: str, method: str) -> bool:
        """Whether the class has a guard of this name, its own or one that it inherits."""
        if self.defines(kind, method) or f"{kind}.{method}" in self.names:
            return f"{kind}.{method}" in self.names
        # A class may have the name of its base in another module.
        return any(self.has(base, method) for base in self._bases.get(kind, ()) if base != kind)


_modules: dict[Path, Module] = {}


def of(file: Path, root: Path) -> Module:
    """What is known of a file. One that is being looked at, by what it imports, is known as far as that has come."""
    return _modules.get(file) or Module(file, root)


def is_handed_on(node: ast.Call) -> bool:
    """Whether it is the call that the host made, or stock's that stands for it: what it raises is not ours."""
    # What `otherwise(...)` returns makes the host's call.
    is_instead = isinstance(node.func, ast.Call) and _name(node.func.func) in _INSTEAD
    return is_instead or _HANDED_ON.match(_name(node.func)) is not None


def is_of_host(node: ast.AST) -> bool:
    """Whether a `with` or a loop is over what the host's call returned: what that raises is the host's, too."""
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return all(_is_of_host(each.context_expr) for each in node.items)
    return isinstance(node, (ast.For, ast.AsyncFor)) and not isinstance(node.iter, ast.Call) and _is_of_host(node.iter)


def _is_of_host(value: ast.AST) -> bool:
    return is_handed_on(value) if isinstance(value, ast.Call) else _name(value).endswith("_of_host")


def is_awaited_call(node: ast.Await) -> bool:
    """Whether what is awaited is a call, which is looked at by itself, or the host's coroutine."""
    return isinstance(node.value, ast.Call) or _name(node.value) == "coroutine"


def _assigned(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.expr]]:
    """The names and attributes that are assigned to, with the values; those of `a, b = c, d` one by one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            both = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            pairs = zip(target.elts, value.elts, strict=True) if both else [(target, value)]
            yield from (pair for pair in pairs if isinstance(pair[0], (ast.Name, ast.Attribute)))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """What a function consists of, but for the functions within it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (*_FUNCTIONS, ast.Lambda)):
            yield child
            yield from _own(child)


def _is_bool_of_call(node: ast.Call) -> bool:
    """Whether it is `bool` of what a function of ours returns, which is looked at by itself."""
    return _name(node.func) == "bool" and any(isinstance(each, ast.Call) for each in ast.walk(node.args[0]))


def _is_empty_object(node: ast.Call) -> bool:
    """Whether it is `Call.__new__(Call)`, which only takes memory."""
    return re.fullmatch(r"(\w+)\.__new__\(\1\)", ast.unparse(node)) is not None


def _is_sorting_out(node: ast.AST) -> bool:
    """Whether it is `try: faults.absorb_any(...)`, and its handlers raise again what that raised: it is not ours.

    They clean up at an interruption. A fault in the midst of that is not looked at.
    """
    if not isinstance(node, ast.Try) or len(node.body) > 1 or node.orelse or node.finalbody:
        return False
    call = node.body[0].value if isinstance(node.body[0], ast.Expr) else None
    last = [each.body[-1] for each in node.handlers]
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and _name(call.func.value) == "faults"
        and call.func.attr in _TRUSTED["patching/faults.py"]
        and all(isinstance(each, ast.Raise) and each.exc is None for each in last)
    )


def _is_cleaning_up(node: ast.Try) -> bool:
    """Whether all handlers raise again: around what lets no fault through, they run only at an interruption."""
    last = [each.body[-1] for each in node.handlers]
    return bool(last) and all(isinstance(each, ast.Raise) and each.exc is None for each in last)


def _raises(node: ast.AST) -> bool:
    """Whether something in it is raised that may be a fault of ours."""
    if _is_sorting_out(node):
        return False
    return isinstance(node, ast.Raise) or any(_raises(each) for each in ast.iter_child_nodes(node))


def _is_wide(handler: ast.ExceptHandler) -> bool:
    if _raises(handler):
        return False
    return handler.type is None or _name(handler.type) in _WIDE


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
