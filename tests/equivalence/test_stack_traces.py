"""The stack traces that spans record: the text that stock records, frame for frame."""

from __future__ import annotations

import asyncio
import sys
from functools import partial

import pytest
from opentelemetry import trace
from sidebyside import errors
from sidebyside.compare import assert_same
from sidebyside.setups import Setup

HOW = (
    "record_exception",
    "made elsewhere",
    "start_as_current_span",
    "start_span",
    "use_span",
    "proxy",
    "nested",
    "decorated",
    "decorated async",
    "generator",
    "asyncio",
)


def _current(world, what, tracer=None):
    with (tracer or world.tracer).start_as_current_span("current"):
        errors.RAISERS[what]()


def _nested(world, what):
    with world.tracer.start_as_current_span("outer"), trace.use_span(world.tracer.start_span("x"), end_on_exit=True):
        try:
            _current(world, what)
        finally:
            world.tick()


def _decorated(world, what):
    @world.tracer.start_as_current_span("decorated")
    def decorated():
        errors.RAISERS[what]()

    decorated()


def _async(world, what, *, decorated):
    async def work():
        await asyncio.sleep(0)
        try:
            errors.RAISERS[what]()
        except (StopIteration, KeyboardInterrupt, SystemExit) as error:
            # The loop itself would be in the way.
            raise LookupError("instead") from error

    async def main():
        if decorated:
            await world.tracer.start_as_current_span("decorated")(work)()
        else:
            with world.tracer.start_as_current_span("current"):
                await asyncio.gather(asyncio.create_task(work()))

    asyncio.run(main())


def _generator(world, what):
    def generate():
        with world.tracer.start_as_current_span("in generator"):
            yield

    generator = generate()
    next(generator)
    generator.throw(errors.made(what))


def _record(world, what, *, where):
    span = world.tracer.start_span("recording")
    error = errors.made(what)
    if where == "here":
        with pytest.raises(type(error)):
            raise error
    span.record_exception(error, attributes={"own": (1, 2)}, escaped=True)
    span.end()


def _with(world, what, *, how):
    span = world.tracer.start_span(how)
    if how == "use_span":
        with trace.use_span(span, end_on_exit=True):
            errors.RAISERS[what]()
    else:
        with span:
            errors.RAISERS[what]()


def _proxy(world, what):
    proxy = trace.ProxyTracer("proxy")
    proxy._real_tracer = world.tracer
    _current(world, what, proxy)


def _do(world, how, what):
    call = {
        "record_exception": lambda: _record(world, what, where="here"),
        "made elsewhere": lambda: _record(world, what, where="there"),
        "start_as_current_span": lambda: _current(world, what),
        "start_span": lambda: _with(world, what, how="start_span"),
        "use_span": lambda: _with(world, what, how="use_span"),
        "proxy": lambda: _proxy(world, what),
        "nested": lambda: _nested(world, what),
        "decorated": lambda: _decorated(world, what),
        "decorated async": lambda: _async(world, what, decorated=True),
        "generator": lambda: _generator(world, what),
        "asyncio": lambda: _async(world, what, decorated=False),
    }[how]
    try:
        call()
    except BaseException as error:  # any of them
        world.told(how, error)


# An exception whose str() or bool() raises is met inside record_exception, whose frames then show: stock's there, ours
# here.
ELSEWHERE = {("nested", "unprintable"), ("nested", "undecided")}


@pytest.mark.parametrize("how", HOW)
def test_every_exception_everywhere(fast, how):
    """An exception of any kind, met in any way, is recorded with stock's text."""
    del fast
    for what in sorted(errors.RAISERS):
        if (how, what) not in ELSEWHERE:
            assert_same(partial(_do, how=how, what=what))


@pytest.mark.parametrize("limits", [{"max_attribute_length": 40}, {"max_event_attributes": 2}, {"max_events": 1}])
@pytest.mark.parametrize("what", ["caused", "deep", "plain"])
def test_under_limits(fast, what, limits):
    """Limits cut a stack trace where they cut stock's."""
    del fast

    def scenario(world):
        for how in HOW:
            _do(world, how, what)

    assert_same(scenario, Setup(limits=limits))


def test_read_while_recording(fast):
    """Reading the text early gives the text, and leaves it in place."""
    del fast

    def scenario(world):
        span = world.tracer.start_span("read early")
        span.record_exception(errors.made("caused"))
        world.told([dict(event.attributes) for event in span.events])
        world.told(span._events[0].attributes["exception.stacktrace"])
        span.record_exception(errors.made("deep"), timestamp=5)
        span.end()

    for processors in (("batch",), ("public", "simple"), ("private",)):
        assert_same(scenario, Setup(processors=processors))


def test_the_same_exception_on_its_way(fast):
    """An exception recorded by several spans as it rises shows each of them as far as it had come."""
    del fast

    def scenario(world):
        def down(levels):
            with world.tracer.start_as_current_span(f"level {levels}"):
                if not levels:
                    errors.caused()
                try:
                    down(levels - 1)
                except errors.Own as error:
                    if levels == 2:
                        raise LookupError("renamed") from error
                    raise

        world.attempt("down", lambda: down(4))

    assert_same(scenario)


def test_source_that_changes(fast, tmp_path, monkeypatch):
    """Code whose source is not in a file, or no longer what it was, is shown as stock shows it."""
    del fast
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def scenario(world):
        path = tmp_path / "made.py"
        path.write_text("def fail():\n    raise ValueError('first')\n", encoding="utf-8")
        namespace = {"__name__": "made", "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)  # noqa: S102  # a module of its own
        span = world.tracer.start_span("changing")
        try:
            namespace["fail"]()
        except ValueError as error:
            span.record_exception(error)
        span.end()

    assert_same(scenario, Setup(processors=("simple",)))


@pytest.mark.parametrize("limit", [0, 1, 3, 100, -2, None])
def test_tracebacklimit(fast, monkeypatch, limit):
    """`sys.tracebacklimit` limits what is recorded as it limits what stock records."""
    del fast
    monkeypatch.setattr(sys, "tracebacklimit", limit, raising=False)

    def scenario(world):
        for how in ("record_exception", "start_as_current_span", "use_span", "decorated"):
            for what in ("deep", "caused", "grouped", "misspelt_name"):
                if what in errors.RAISERS:
                    _do(world, how, what)

    assert_same(scenario)
