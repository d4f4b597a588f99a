"""Random programs: as many exceptions are counted as there are objects, and as many handled as end in a handler."""

from __future__ import annotations

# ruff: noqa: B023, B904, D103, PLC3002, S110, SIM105, TRY201, TRY203, TRY301  # odd code is what this is about
import contextlib
import sys
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("otel_fastpath.exceptions.callbacks_c", reason="the compiled callback is not built")

from counting.scenario import count

KINDS = (ValueError, KeyError, LookupError)
# What happens to an exception on its way: each makes a function that calls `inner` and lets out what it does not catch.
WAYS = (
    "call",
    "finally",
    "handle",
    "reraise",
    "reraise_by_name",
    "translate",
    "translate_with_traceback",
    "strip",
    "context_manager",
    "generator",
    "coroutine",
    "except_star",
    "another_inside",
    "store_and_raise",
    "suppress",
    "c_callback",
)


@contextlib.contextmanager
def manager():
    try:
        yield
    finally:
        ""


def call(inner):
    inner()


def with_finally(inner):
    try:
        inner()
    finally:
        ""


def handle(inner):
    try:
        inner()
    except LookupError:
        pass


def reraise(inner):
    try:
        inner()
    except Exception:
        raise


def reraise_by_name(inner):
    try:
        inner()
    except Exception as error:
        raise error


def translate(inner):
    try:
        inner()
    except Exception as error:
        raise ValueError("translated") from error


def translate_with_traceback(inner):
    try:
        inner()
    except Exception as error:
        raise KeyError("translated").with_traceback(error.__traceback__) from None


def strip(inner):
    try:
        inner()
    except Exception as error:
        raise error.with_traceback(None)


def context_manager(inner):
    with manager():
        inner()


def generator(inner):
    def steps():
        yield inner()

    list(steps())


def coroutine(inner):
    async def awaited():
        inner()

    async def waiting():
        await awaited()

    try:
        waiting().send(None)
    except StopIteration:
        pass


def except_star(inner):
    try:
        inner()
    except* LookupError:
        pass


def another_inside(inner):
    try:
        inner()
    except Exception:
        try:
            raise ValueError("inside")
        except ValueError:
            pass
        raise


def store_and_raise(inner):
    stored = None
    try:
        inner()
    except Exception as error:
        stored = error
    if stored is not None:
        raise stored


def suppress(inner):
    with contextlib.suppress(KeyError):
        inner()


def c_callback(inner):
    sorted([1, 2], key=lambda _: inner())


def program(kind, again, ways):
    """A function that raises `kind`, `again` times the same object, under all these layers."""
    error = kind("first")
    attempts = iter(range(again + 1))

    def raising():
        next(attempts, None)
        raise error

    run = raising
    for way in ways:
        layer = globals()["with_finally" if way == "finally" else way]
        run = (lambda layer, inner: lambda: layer(inner))(layer, run)

    def main():
        for _ in range(again):
            try:
                run()
            except Exception:  # whatever came of it
                pass

    return main


def objects(function):
    """Type -> distinct exceptions that RAISE was seen with in code that counts."""
    monitoring = sys.monitoring
    kept = {}

    def seen(code, _offset, error):
        skipped = isinstance(error, (StopIteration, StopAsyncIteration, GeneratorExit))
        if not skipped and not code.co_filename.startswith("<frozen "):
            kept[id(error)] = error

    monitoring.use_tool_id(0, "oracle")
    monitoring.register_callback(0, monitoring.events.RAISE, seen)
    monitoring.set_events(0, monitoring.events.RAISE)
    try:
        function()
    finally:
        monitoring.set_events(0, 0)
        monitoring.register_callback(0, monitoring.events.RAISE, None)
        monitoring.free_tool_id(0)
    return dict(Counter(type(error).__name__ for error in kept.values()))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    kind=st.sampled_from(KINDS),
    again=st.integers(1, 3),
    ways=st.lists(st.sampled_from(WAYS), max_size=7),
)
def test_every_object_is_counted_once(kind, again, ways):
    """Whatever a program does to its exceptions, each object that Python code sees is one."""
    raised, handled = count(program(kind, again, ways), handled=True)
    assert raised == objects(program(kind, again, ways))
    # Everything ends in a handler of ours, at the latest in the outermost; except* hands the rest on as a new object.
    assert all(number <= raised[name] for name, number in handled.items())
    if "except_star" not in ways:
        assert handled == raised
