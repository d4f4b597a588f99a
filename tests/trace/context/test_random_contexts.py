"""Random programs of contexts, spans and baggage do the same with stock's functions and with this package's."""

# ruff: noqa: D102  # the methods are named after the steps of a program

from __future__ import annotations

import contextvars
import logging
import re
from contextlib import contextmanager
from types import MappingProxyType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context as context_api
from opentelemetry.baggage import _BAGGAGE_KEY
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, Span, SpanContext
from opentelemetry.trace.propagation import _SPAN_KEY


class Text(str):
    """A key that is a string of one's own."""

    __slots__ = ()


class OwnContext(context_api.Context):
    """A context that reads in its own way."""

    def get(self, key, default=None):
        """Find something else."""
        return ("own", key, default)

    def copy(self):
        """Something else."""
        return {"copied": "own", **self}


class Baggage(dict):
    """A baggage of one's own."""

    def copy(self):
        """Forget it."""
        return {"copied": "own"}


class Pretended:
    """Says that it is a span."""

    __class__ = NonRecordingSpan


class Registered:
    """Counts as a span."""


class Raising(dict):
    """A context whose reading fails."""

    def get(self, _key, _default=None):
        """Fail."""
        raise LookupError("of its own")


Span.register(Registered)
_PROVIDER = TracerProvider(shutdown_on_exit=False)
SPANS = (
    INVALID_SPAN,
    NonRecordingSpan(SpanContext(1, 2, is_remote=True)),
    _PROVIDER.get_tracer("a").start_span("recording"),
    Pretended(),
    Registered(),
    object(),
    None,
    "span",
)
KEYS = ("a", "b", Text("a"), 1, (), ["unhashable"], None, _SPAN_KEY, _BAGGAGE_KEY)
VALUES = (
    1,
    None,
    "text",
    {},
    {"x": 1},
    {Text("x"): 2, 3: 4},
    Baggage(x=1),
    MappingProxyType({"x": 1}),
    ["x"],
    *SPANS,
)
GIVEN = (
    context_api.Context(),
    context_api.Context({"a": 1}),
    context_api.Context({_SPAN_KEY: SPANS[1], "b": 2}),
    context_api.Context({_BAGGAGE_KEY: {"x": 1, "y": 2}, "a": None}),
    {"a": 1},
    OwnContext({"a": 1}),
    Raising(a=1),
    MappingProxyType({"a": 1}),
    [],
    0,
)
KEY, NAME = st.sampled_from(range(len(KEYS))), st.sampled_from(["x", "y", Text("x"), 1, None, ("t",), [], ""])
VALUE, SPAN = st.sampled_from(range(len(VALUES))), st.sampled_from(range(len(SPANS)))
# One that is given, one that the program made, or the current one; and whether it is given by its name.
CONTEXT = st.tuples(
    st.sampled_from(["current", "current", "made", "made", "given"]), st.integers(0, 9), st.sampled_from(["", "named"])
)
STEPS = st.one_of(
    st.tuples(st.just("set_value"), KEY, VALUE, CONTEXT),
    st.tuples(st.just("get_value"), KEY, CONTEXT),
    st.tuples(st.just("set_span"), SPAN, CONTEXT),
    st.tuples(st.just("get_span"), CONTEXT),
    st.tuples(st.just("set_baggage"), NAME, VALUE, CONTEXT),
    st.tuples(st.just("get_baggage"), NAME, CONTEXT),
    st.tuples(st.just("get_all"), CONTEXT),
    st.tuples(st.just("attach"), CONTEXT),
    st.tuples(st.just("detach"), st.integers(0, 4)),
    st.tuples(st.just("wrong_token"), st.sampled_from(["none", "other variable", "other context"])),
    st.tuples(st.just("wrong_arguments"), st.sampled_from(range(4))),
)


class Run:
    """One run of a program."""

    def __init__(self, functions):
        self.functions = {name.partition(".")[2]: function for name, function in functions.items()}
        self.happened = []
        self.made = [context_api.Context()]
        self.tokens = []

    def context(self, which, number, way):
        if which == "current":
            chosen = None
            if not number % 3:
                return (), {}
        else:
            chosen = (GIVEN if which == "given" else self.made)[number % len(GIVEN if which == "given" else self.made)]
        return ((), {"context": chosen}) if way else ((chosen,), {})

    def shown(self, value):
        """What is comparable: objects that both runs share are themselves."""
        if isinstance(value, dict):
            return type(value), [(self.shown(key), self.shown(each)) for key, each in dict.items(value)]
        if type(value) is MappingProxyType:
            return MappingProxyType, list(value.items())
        return (type(value), value) if type(value) in {int, str, Text, tuple} else id(value)

    def attempt(self, name, *arguments, context=None, **named):
        at, by_name = ((), {}) if context is None else self.context(*context)
        found = None
        try:
            found = self.functions[name](*arguments, *at, **named, **by_name)
        except Exception as error:
            text = str(error) if not isinstance(error, (TypeError, AttributeError)) else ""
            self.happened.append((name, type(error), text, type(error.__context__)))
        else:
            is_given = any(found is each for each in (*at, *by_name.values(), context_api.get_current()))
            self.happened.append((name, "a token" if name == "attach" else self.shown(found), is_given))
        self.happened.append(("current", self.shown(context_api.get_current())))
        return found

    def set_value(self, key, value, context):
        self.keep(self.attempt("set_value", KEYS[key], VALUES[value], context=context))

    def get_value(self, key, context):
        self.attempt("get_value", KEYS[key], context=context)

    def set_span(self, span, context):
        self.keep(self.attempt("set_span_in_context", SPANS[span], context=context))

    def get_span(self, context):
        self.attempt("get_current_span", context=context)

    def set_baggage(self, name, value, context):
        self.keep(self.attempt("set_baggage", name, VALUES[value], context=context))

    def get_baggage(self, name, context):
        self.attempt("get_baggage", name, context=context)

    def get_all(self, context):
        self.attempt("get_all", context=context)

    def attach(self, context):
        which, number, _ = context
        at, _ = self.context(which, number, "")
        self.tokens.append(self.attempt("attach", *(at or (self.made[-1],))))

    def detach(self, number):
        if self.tokens:
            self.attempt("detach", self.tokens.pop() if number else self.tokens[0])

    def wrong_token(self, which):
        token = None
        if which == "other variable":
            token = contextvars.ContextVar("another").set(1)
        elif which == "other context":
            token = contextvars.copy_context().run(self.functions["attach"], context_api.Context())
        self.attempt("detach", token)

    def wrong_arguments(self, which):
        name, arguments, named = (
            ("get_value", (), {}),
            ("attach", (), {"token": 1}),
            ("set_baggage", ("x",), {"other": 1}),
            ("get_current_span", (None, None), {}),
        )[which]
        self.attempt(name, *arguments, **named)

    def keep(self, made):
        if type(made) is context_api.Context:
            self.made.append(made)

    def program(self, steps):
        for what, *arguments in steps:
            getattr(self, what)(*arguments)


@contextmanager
def _logs(run):
    class Handler(logging.Handler):
        def emit(self, record):
            error = record.exc_info[1]
            text = re.sub("0x[0-9a-f]+", "", str(error))
            run.happened.append(("logged", record.getMessage(), type(error), text, type(error.__context__)))

    logger, handler = logging.getLogger("opentelemetry.context"), Handler()
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


def happens(functions, program):
    """What happens in the program with these functions."""
    run = Run(functions)
    with _logs(run):
        contextvars.Context().run(run.program, program)
    return run.happened


@pytest.mark.proves("context.*", "baggage.*", "trace.set_span_in_context", "trace.get_current_span")
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(program=st.lists(STEPS, max_size=14))
def test_a_random_program(ours, stock, program):
    """Contexts, values, exceptions and log records are the same."""
    assert happens(ours, program) == happens(stock, program)
