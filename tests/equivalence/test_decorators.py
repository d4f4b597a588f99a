"""`start_as_current_span` and `use_span` as decorators, and as what they are otherwise: context managers used once."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from opentelemetry import trace
from sidebyside.compare import assert_same
from sidebyside.seeing import seen_error, stack_text
from sidebyside.setups import Setup


def _seen_spans(happenings):
    return sum(each[0] == "exported" for each in happenings)


def test_a_function_keeps_its_face(fast):
    """Name, docstring, signature, and whether it is a coroutine function survive decoration."""
    del fast

    def scenario(world):
        @world.tracer.start_as_current_span("plain")
        def plain(one, two=2, *rest, three, **more):
            """Says what it does."""
            return one, two, rest, three, more

        @world.tracer.start_as_current_span("async")
        async def waiting():
            return trace.get_current_span().name

        world.told(plain.__name__, plain.__doc__, str(inspect.signature(plain)), plain.__wrapped__.__qualname__)
        world.told(inspect.iscoroutinefunction(plain), inspect.iscoroutinefunction(waiting), waiting.__name__)
        world.told(plain(1, 2, 4, three=3, four=4), asyncio.run(waiting()))
        world.attempt("wrong call", lambda: plain(1))

    assert _seen_spans(assert_same(scenario)) == 3


def test_each_call_has_a_span_of_its_own(fast):
    """Calls that follow, nest or overlap get one span each, with the right parents."""
    del fast

    def scenario(world):
        @world.tracer.start_as_current_span("recursive", attributes={"a": 1}, links=[])
        def recursive(depth):
            world.tick()
            world.told(trace.get_current_span())
            return depth and recursive(depth - 1)

        @world.tracer.start_as_current_span("overlapping")
        async def overlapping(number):
            trace.get_current_span().set_attribute("number", number)
            await asyncio.sleep(0)
            world.told(number, trace.get_current_span().attributes)
            recursive(1)

        async def both():
            await asyncio.gather(overlapping(1), overlapping(2))

        recursive(2)
        recursive(0)
        asyncio.run(both())
        world.told(trace.get_current_span())

    assert _seen_spans(assert_same(scenario)) == 10


@pytest.mark.proves("tracer.start_as_current_span")
@pytest.mark.parametrize("how", ["start_as_current_span", "use_span"])
def test_exceptions_of_decorated_functions(fast, how):
    """What a decorated function raises is recorded and raised with the text that stock gives."""
    del fast

    def scenario(world):
        def decorator(name):
            if how == "use_span":
                return trace.use_span(world.tracer.start_span(name), end_on_exit=True)
            return world.tracer.start_as_current_span(name)

        @decorator("plain")
        def plain(value):
            raise KeyError(value)

        @decorator("async")
        async def waiting(value):
            await asyncio.sleep(0)
            plain(value)

        for call in (lambda: plain(1), lambda: asyncio.run(waiting(2))):
            with pytest.raises(KeyError) as caught:
                call()
            world.happened("raised", seen_error(caught.value), _without_internals(stack_text(caught.value)))

    assert_same(scenario)


def _without_internals(text):
    """The stack trace as its reader cares for it: the frames of stock's generators never were in it."""
    return "\n".join(line for line in text.splitlines() if "otel_fastpath" not in line and "~~" not in line)


def test_generator_functions(fast):
    """The span of a decorated generator function covers the call, not the iteration."""
    del fast

    def scenario(world):
        @world.tracer.start_as_current_span("generator")
        def generator():
            world.told(trace.get_current_span())
            yield 1
            raise LookupError

        @world.tracer.start_as_current_span("async generator")
        async def async_generator():
            world.told(trace.get_current_span())
            yield 2

        async def read():
            return [item async for item in async_generator()]

        world.attempt("generator", lambda: list(generator()))
        world.told(asyncio.run(read()), inspect.isgeneratorfunction(generator))

    assert _seen_spans(assert_same(scenario)) == 2


def test_methods_and_stacked_decorators(fast):
    """Methods, static and class methods, and several decorators on one function."""
    del fast

    def scenario(world):
        start = world.tracer.start_as_current_span

        class Service:
            @start("method")
            def method(self):
                return self.static(), self.of_class()

            @staticmethod
            @start("static")
            def static():
                return trace.get_current_span().name

            @classmethod
            @start("of class", kind=trace.SpanKind.SERVER)
            def of_class(cls):
                return cls.__name__, trace.get_current_span().kind

            @start("outer")
            @start("inner")
            def stacked(self):
                return trace.get_current_span().name

        world.told(Service().method(), Service().stacked())

    assert _seen_spans(assert_same(scenario)) == 5


def test_a_scope_is_used_once(fast):
    """Entering twice, leaving without entering and decorating after entering fail as stock's generators do."""
    del fast

    def scenario(world):
        for make in (
            lambda: world.tracer.start_as_current_span("once"),
            lambda: trace.use_span(world.tracer.start_span("used"), end_on_exit=True),
            lambda: trace.NoOpTracer().start_as_current_span("nothing"),
        ):
            scope = make()
            with scope:
                world.happened("inside")
            for misuse in (scope.__enter__, lambda scope=scope: scope(lambda: None)()):
                with pytest.raises(Exception) as caught:  # noqa: PT011  # which one is the question
                    misuse()
                world.happened("misuse", caught.type.__name__)

    assert_same(scenario)


def test_a_decorator_that_is_never_called(fast):
    """Decorating starts nothing."""
    del fast

    def scenario(world):
        world.tracer.start_as_current_span("never")(lambda: None)
        world.tracer.start_as_current_span("never entered")

    assert _seen_spans(assert_same(scenario, Setup(processors=("light", "simple")))) == 0
