"""Changes one function of stock: what stands in its place, or its source."""

from __future__ import annotations

import ast
import builtins
import copy
import dataclasses
import enum
import functools
import gc
import inspect
import linecache
import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType

from functions import function_in, modules
from opentelemetry import baggage, context, trace

from otel_fastpath.db.stand_ins import CollectedAttributes
from otel_fastpath.patching.swapping.swap import seen_through

KEY = "mutated.key"
MARK = "~"
# More than this is a time in nanoseconds, or an id.
_LARGE = 10**17
_LARGER_BY = 10**15
_NAME = "_mutated"
# Whose functions are given the dicts of an application.
_GIVEN_DICTS = tuple(f"opentelemetry.{name}" for name in ("sdk", "metrics", "trace", "_logs", "attributes", "context"))
_INSTRUMENTATIONS = "opentelemetry.instrumentation."
# The functions that have a code, for the code of each function that is defined in another one.
USERS = defaultdict(list)


def note_users():
    """Find the functions that there are: to look for them in each child would take longer than all else."""
    files = modules()
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename in files:
            USERS[each.__code__].append(each)


def changed(value):
    """A value in the place of what a function returned: a text or key more, a number higher, a bool inverted."""
    for kinds, change in _CHANGES:
        if isinstance(value, kinds):
            return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and hasattr(value, "attributes"):
        with suppress(TypeError):
            return dataclasses.replace(value, attributes={**(value.attributes or {}), KEY: "yes"})
    return value


# How many values `changed_counted` has changed.
COUNTS = Counter()


def changed_counted(value):
    """Likewise, and count the values that are not the same."""
    other = changed(value)
    COUNTS[type(other) is not type(value) or other != value] += 1
    return other


def _next_member(value):
    members = list(type(value))
    return members[(members.index(value) + 1) % len(members)]


def _changed_items(value):
    if type(value) not in {tuple, list}:
        return value
    return type(value)(map(changed, value)) + type(value)([MARK] if value and isinstance(value[0], str) else ())


# What is first is looked at first.
_CHANGES = (
    (bool, lambda value: not value),
    (enum.Enum, _next_member),
    (int, lambda value: type(value)(value + (_LARGER_BY if value > _LARGE else 1))),
    (float, lambda value: value + 1),
    (str, lambda value: value + MARK),
    (Mapping, lambda value: {**value, KEY: "yes"}),
    ((tuple, list), _changed_items),
)


class ChangedScope:
    """A context manager like this one, in which there is baggage more, and whose span has an attribute more."""

    def __init__(self, scope):
        self._scope = scope

    def __enter__(self):
        """Enter both."""
        value = self._scope.__enter__()
        self._token = context.attach(baggage.set_baggage(KEY, "yes"))
        return changed_object(value)

    def __exit__(self, *error):
        """Leave both."""
        context.detach(self._token)
        return self._scope.__exit__(*error)


def changed_object(value):
    """An object in the place of what a function returned, of whose doing or contents a part is another one."""
    return next((change(value) for is_one, change in _OBJECTS if is_one(value)), value)


def _with_attribute(span):
    if span.is_recording():
        span.set_attribute(KEY, "yes")
    return span


def _with_entry(metadata):
    metadata.add(KEY, "yes")
    return metadata


def _with_other_texts(value):
    other = copy.copy(value)
    for name, field in vars(value).items():
        setattr(other, name, field + MARK if type(field) is str else field)
    return other


def _kind(*kinds):
    return lambda value: isinstance(value, kinds)


def _having(*names):
    return lambda value: all(hasattr(value, name) for name in names)


# What is first is looked at first.
_OBJECTS = (
    (_kind(trace.Span), _with_attribute),
    (_kind(trace.Status), lambda value: trace.Status(trace.StatusCode.ERROR, f"{value.description}{MARK}")),
    (_kind(bytes), lambda value: value + MARK.encode()),
    (_kind(FunctionType), lambda value: _function_like(value, lambda found: changed_object(changed(found)))),
    (_kind(Iterator), lambda value: map(changed, value)),
    (_having("_make"), lambda value: value._make(map(changed_object, value))),
    # The metadata of gRPC.
    (_having("add", "get_all"), _with_entry),
    (_having("__enter__", "__exit__"), ChangedScope),
    (
        lambda value: hasattr(value, "__dict__") and type(value).__module__.startswith(_INSTRUMENTATIONS),
        _with_other_texts,
    ),
)


def _function_like(function, change, begin=lambda _arguments: None):
    """A function that does the same as this one, and returns something else."""

    def mutated(*args, **kwargs):
        begin(dict(enumerate(args), **kwargs))
        return change(function(*args, **kwargs))

    async def mutated_later(*args, **kwargs):
        begin(dict(enumerate(args), **kwargs))
        return change(await function(*args, **kwargs))

    return mutated_later if inspect.iscoroutinefunction(function) else mutated


@dataclasses.dataclass
class Mutation:
    """What is done to one function.

    Attributes:
        place: The function.
        way: "before", "after" or "source".
        kind: "result", "effect", "call" or "object".
        calls: How many times it was called.
    """

    place: str
    way: str
    kind: str
    calls: int = 0

    def counted(self, value, arguments):
        """Count a call, whose arguments are a dict; return the value."""
        self.calls += 1
        if self.kind == "effect":
            for each in (*arguments.values(), trace.get_current_span()):
                # What is no span may answer for any attribute; this package collects in objects of its own.
                if isinstance(each, trace.Span) and each.is_recording():
                    each.set_attribute(KEY, "yes")
                elif isinstance(each, CollectedAttributes):
                    each[KEY] = "yes"
                elif type(each) in {dict, OrderedDict} and not self.place.startswith(_GIVEN_DICTS):
                    # An instrumentation collects in it.
                    each[KEY] = "yes"
        return value

    def result(self, value):
        """What is returned in the place of this value."""
        change = {"result": changed, "object": changed_object}.get(self.kind)
        return value if change is None else change(value)

    def apply(self, function):
        """Change the function."""
        if self.way == "source":
            change_source(function, self)
            return
        owner, name = function.owner()
        raw = vars(owner)[name]
        replacement = self._replacement(raw)
        setattr(owner, name, replacement)
        # A module may have imported it by name before, or since, this package put its own in the place.
        stock = seen_through(raw)
        for module in map(sys.modules.get, modules().values()):
            for other in [other for other, value in vars(module).items() if seen_through(value) is stock]:
                setattr(module, other, replacement)

    def _replacement(self, raw):
        if isinstance(raw, property):
            return property(self._wrapped(raw.fget), raw.fset, raw.fdel, raw.__doc__)
        if isinstance(raw, (staticmethod, classmethod)):
            return type(raw)(self._wrapped(raw.__func__))
        return self._wrapped(raw)

    def _wrapped(self, function):
        made = _function_like(function, self.result, lambda arguments: self.counted(None, arguments))
        # A wrapper as most are written, and one that says nothing of what it wraps.
        return functools.wraps(function)(made) if self.way == "before" else made


class Returns(ast.NodeVisitor):
    """Finds the values that a function returns, and not those of the functions inside of it."""

    def __init__(self):
        self.found = []

    def visit_Return(self, node):
        """Keep the value."""
        if node.value is not None:
            self.found.append(node.value)

    def _visit_inner(self, _node):
        """Leave it out."""

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = _visit_inner  # noqa: N815  # ast's


def _definition(tree, code):
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    raise LookupError(code.co_qualname)


def first_place(body):
    """Where a call can be put so that it is the first: an expression, or the place before a simple statement."""
    statement = body[0]
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    is_definition = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    if is_definition or (is_docstring and len(body) > 1):
        return first_place(body[1:])
    for name in ("test", "iter", "subject"):
        if hasattr(statement, name):
            return getattr(statement, name)
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return statement.items[0].context_expr
    return first_place(statement.body) if isinstance(statement, ast.Try) else statement


def _inserted(lines, node, before, after):
    """Put text around a node; the lines stay the same."""
    for line, column, text in (
        (node.end_lineno, node.end_col_offset, after),
        (node.lineno, node.col_offset, before),
    ):
        raw = lines[line - 1].encode()
        lines[line - 1] = (raw[:column] + text.encode() + raw[column:]).decode()


def _codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def change_source(function, mutation):
    """Change the source of a function that is defined already, and let it and the functions inside of it do that."""
    lines, node = source_of(function)
    visitor = Returns()
    for each in node.body:
        visitor.visit(each)
    first = first_place(node.body)
    places = [(each, f"{_NAME}.result((", "))") for each in visitor.found if mutation.kind in {"result", "object"}]
    if isinstance(first, ast.stmt):
        places.append((first, f"{_NAME}.counted(None, locals()); ", ""))
    else:
        places.append((first, f"{_NAME}.counted((", "), locals())"))
    # From the end on, so that what is before stays where it is; of two at one place, the outer one last.
    for each, before, after in sorted(places, key=lambda place: (place[0].lineno, place[0].col_offset), reverse=True):
        _inserted(lines, each, before, after)
    setattr(builtins, _NAME, mutation)
    put_source(function, lines)


def source_of(function):
    """The lines of the file of a function, and its definition."""
    text = Path(function.code.co_filename).read_text(encoding="utf-8")
    return text.splitlines(keepends=True), _definition(ast.parse(text), function.code)


def put_source(function, lines):
    """Let a function, and those inside of it, do what these lines of their file say."""
    file, text = function.code.co_filename, "".join(lines)
    owner, name = function.owner()
    outer = function_in(vars(owner)[name])
    made = compile(text, file, "exec", dont_inherit=True)
    new = {(code.co_qualname, code.co_firstlineno): code for code in _codes(made)}
    for old in _codes(outer.__code__):
        code = new[old.co_qualname, old.co_firstlineno]
        for user in (*USERS.get(old, ()), outer):
            if user.__code__ is old:
                user.__code__ = code
    linecache.cache[file] = (len(text), None, lines, file)
