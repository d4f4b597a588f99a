"""Random programs of suppressions do the same with stock's functions and with this package's."""

# ruff: noqa: D102, D105  # the methods are named after the steps of a program, and after what they stand for

from __future__ import annotations

import contextvars
import gc
import logging
import re
from contextlib import contextmanager
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import context as context_api
from opentelemetry.instrumentation import utils

KEYS = (
    utils._SUPPRESS_INSTRUMENTATION_KEY,
    utils._SUPPRESS_INSTRUMENTATION_KEY_PLAIN,
    utils._SUPPRESS_HTTP_INSTRUMENTATION_KEY,
)


class Odd:
    """A value whose truth is its own affair."""

    def __init__(self, truth, asked):
        self.truth, self.asked = truth, asked

    def __bool__(self):
        self.asked.append(("asked", repr(self.truth)))
        if self.truth is None:
            raise LookupError("neither")
        return self.truth


class Own(BaseException):
    """One of the host's."""


ERRORS = (KeyError, StopIteration, RuntimeError, GeneratorExit, KeyboardInterrupt, Own, StopAsyncIteration)
VALUES = (True, False, None, 0, 1, "", "yes", [], "odd true", "odd false", "odd raises")
WHICH = st.sampled_from(["suppress_instrumentation", "suppress_http_instrumentation"])
LEAVES = st.one_of(
    st.tuples(st.just("raise"), st.sampled_from(range(len(ERRORS)))),
    st.tuples(st.just("set"), st.sampled_from((*range(len(KEYS)), "other")), st.sampled_from(VALUES)),
    st.tuples(st.just("attach"), st.sampled_from(["plain dict", "empty", "nothing"])),
    st.tuples(st.sampled_from(["elsewhere", "twice", "unentered", "unentered error", "dropped", "overlapping"]), WHICH),
    st.tuples(st.just("generator"), WHICH, st.sampled_from(["exhaust", "close", "throw", "drop"])),
    st.tuples(st.just("exit by hand"), WHICH, st.sampled_from(range(len(ERRORS)))),
)
PROGRAMS = st.recursive(
    st.lists(LEAVES, max_size=3),
    lambda bodies: st.lists(
        st.one_of(
            LEAVES,
            st.tuples(st.just("with"), WHICH, bodies),
            st.tuples(st.sampled_from(["decorated", "decorated twice", "awaited", "tasks"]), WHICH, bodies),
            st.tuples(st.just("try"), bodies),
        ),
        max_size=4,
    ),
    max_leaves=12,
)


class _Pause:
    """Lets the other task run."""

    def __await__(self):
        yield


def _run_in_turns(tasks):
    """Run coroutines as an event loop does, but within one, too; returns what they raised at last."""
    errors = []
    while tasks:
        context, coroutine = tasks.pop(0)
        try:
            context.run(coroutine.send, None)
        except BaseException as error:
            errors.append(error)
        else:
            tasks.append((context, coroutine))
    return errors


class Run:
    """One run of a program."""

    def __init__(self, functions):
        self.functions = functions
        self.happened = []

    def note(self, what, value=None):
        self.happened.append((what, value))

    def look(self):
        found = context_api.get_current()
        named = {key: getattr(value, "truth", value) for key, value in found.items()} if found is not None else found
        self.note("context", (type(found).__name__, list((named or {}).items())))
        for name in ("is_instrumentation_enabled", "is_http_instrumentation_enabled"):
            self.attempt(name, self.functions[name])

    def attempt(self, what, call):
        try:
            self.note(what, call())
        except BaseException as error:
            self.note(what, self.shown(error))
            return error

    def shown(self, error):
        text = "" if isinstance(error, (TypeError, AttributeError)) else str(error)
        around = type(error.__context__).__name__, type(error.__cause__).__name__, error.__suppress_context__
        return type(error).__name__, text, around

    def body(self, steps):
        for what, *arguments in steps:
            self.look()
            getattr(self, what.split()[0])(what, *arguments)
        self.look()

    def make(self, which):
        return self.functions[which]()

    def set(self, _what, which, value):
        if isinstance(value, str) and value.startswith("odd"):
            value = Odd({"odd true": True, "odd false": False}.get(value), self.happened)
        key = which if which == "other" else KEYS[which]
        self.attempt("set", lambda: context_api.attach(context_api.set_value(key, value)) and None)

    def attach(self, _what, which):
        context_api.attach({"plain dict": {"a": 1}, "empty": context_api.Context(), "nothing": None}[which])

    def raise_(self, kind):
        raise ERRORS[kind]("the host's")

    def with_(self, which, body):
        with self.make(which) as entered:
            self.note("entered", entered)
            self.body(body)

    def decorated(self, what, which, body):
        @self.make(which)
        def function(*args, named=0):
            """Do it."""
            self.body(body)
            return args, named

        self.note(function.__name__, function.__doc__)
        for number in range(2 if what.endswith("twice") else 1):
            self.note("returned", function(number, named=1))

    def awaited(self, _what, which, body):
        """A coroutine function is decorated as any function: its body runs outside of the context manager."""

        @self.make(which)
        async def function():
            self.attempt("awaited", lambda: self.body(body))

        _run_in_turns([(contextvars.copy_context(), function())])

    def tasks(self, _what, which, body):
        """Two tasks take turns."""

        async def one(number):
            with self.make(which):
                self.note("task", number)
                self.look()
                await _Pause()
                self.attempt("in a task", lambda: self.body(body))
                await _Pause()
                self.look()
                raise KeyError(number)

        errors = _run_in_turns([(contextvars.copy_context(), one(number)) for number in (1, 2)])
        self.note("tasks", [self.shown(error) for error in errors])

    def try_(self, body):
        error = self.attempt("try", lambda: self.body(body))
        if error is not None:
            names = [name for name, file in _frames(error) if not _is_between(file)]
            self.note("frames", names)

    def elsewhere(self, _what, which):
        manager = self.make(which)
        contextvars.copy_context().run(manager.__enter__)
        self.look()
        self.attempt("left", lambda: manager.__exit__(None, None, None))

    def twice(self, _what, which):
        manager = self.make(which)
        with manager:
            self.attempt("entered again", manager.__enter__)
        self.attempt("left again", lambda: manager.__exit__(None, None, None))
        self.attempt("entered again", manager.__enter__)
        self.attempt("decorates", lambda: manager(len)([]))

    def unentered(self, what, which):
        error = KeyError("never entered") if what.endswith("error") else None
        manager = self.make(which)
        given = (None, None, None) if error is None else (KeyError, error, None)
        self.attempt("left", lambda: manager.__exit__(*given))
        self.attempt("left again", lambda: manager.__exit__(*given))

    def exit(self, _what, which, kind):
        manager = self.make(which)
        manager.__enter__()
        error = ERRORS[kind]("by hand")
        self.attempt("left by hand", lambda: manager.__exit__(type(error), error, None))
        self.note("error", self.shown(error))

    def dropped(self, _what, which):
        manager = self.make(which)
        manager.__enter__()
        self.look()
        del manager
        gc.collect(0)

    def overlapping(self, _what, which):
        first, second = self.make(which), self.make("suppress_instrumentation")
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        self.look()
        second.__exit__(None, None, None)

    def generator(self, _what, which, finish):
        def generate():
            with self.make(which):
                yield 1
                yield 2

        made = generate()
        next(made)
        self.look()
        if finish == "exhaust":
            self.note("rest", list(made))
        elif finish == "close":
            made.close()
        elif finish == "throw":
            self.attempt("throw", partial(made.throw, LookupError("thrown in")))
        del made
        gc.collect(0)


for _name in ("raise", "with", "try"):
    setattr(Run, _name, lambda self, _what, *rest, _name=_name: getattr(self, f"{_name}_")(*rest))


def _is_between(file):
    """Whether the frame is one of a context manager, stock's or ours."""
    return file.endswith(("contextlib.py", "instrumentation/utils.py")) or "otel_fastpath/others/suppression" in file


def _frames(error):
    step = error.__traceback__
    while step is not None:
        yield step.tb_frame.f_code.co_name, step.tb_frame.f_code.co_filename
        step = step.tb_next


@contextmanager
def _logs(run):
    class Handler(logging.Handler):
        def emit(self, record):
            around = record.exc_info[1].__context__ if record.exc_info else None
            run.note(
                "logged",
                (
                    record.getMessage(),
                    re.sub("0x[0-9a-f]+", "", str(record.exc_info and record.exc_info[1])),
                    type(around),
                ),
            )

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
        contextvars.Context().run(run.attempt, "program", lambda: run.body(program))
    return run.happened


@pytest.mark.proves("utils.*")
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(program=PROGRAMS)
def test_a_random_program(ours, stock, program):
    """Contexts, answers, exceptions and log records are the same."""
    assert happens(ours, program) == happens(stock, program)
