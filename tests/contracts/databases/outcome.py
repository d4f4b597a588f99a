"""Whatever telemetry raises around a call: the outcome is the library's, and the context as before."""

from __future__ import annotations

import inspect

import pytest
from combinations import crossed
from contracts.databases.contract import Contract, wait
from opentelemetry import context
from sabotage import ABSORBED, FOREIGN, RAISED, Odd, Sabotage, as_ours, broken, broken_logging, plain, raising_once

FULL = {"telemetry": "full", "disabled": "exceptions"}
EXCEPTIONS = (Odd(), Sabotage(), KeyboardInterrupt(), SystemExit(), GeneratorExit())


class Outcome(Contract):
    """Whatever telemetry raises around a call: the outcome is the library's, and the context as before.

    Attributes:
        own: Name -> the place of a function of ours that some of the entries come through.
        bound: Which of these the wrappers hold, so that they are replaced before.
        raised: What a set-up raises that the application gets.
        raising: The places of the library that raise, and what is asked then.
        is_connected_before: Connections from before are wrapped, too.
        stops: What may end a process.
        stopped_at: Where a processor raises it.
    """

    own = {}
    bound = ()
    raised = RAISED
    raising = []
    is_connected_before = True
    stops = (KeyboardInterrupt, SystemExit)
    stopped_at = ("on_start", "on_end")

    cases = (
        ("test_an_error_of_the_set_up_is_raised", "saboteur", lambda cls: cls.raised, False),
        (
            *("test_a_fault_of_ours_is_counted_only", ("core", "place")),
            *(lambda cls: crossed(["c", "py"], list(cls.own)), ["core"]),
        ),
        (
            *("test_an_exception_is_the_very_same", ("raised", "error")),
            *(lambda cls: crossed(cls.raising, EXCEPTIONS), False),
        ),
    )

    @pytest.fixture
    def program(self, run):
        """Each entry once, and what else telemetry may break."""
        return lambda: run(self.ask_everything)

    @pytest.fixture
    def everything(self, instrumentor, core, library, program):
        """`everything(**providers)`: the program with a set-up whose telemetry fails."""

        def call(sabotage=lambda: None, **providers):
            instrumentor.instrument(core=core, **FULL, **{f"{library}_options": self.options}, **providers)
            sabotage()
            token = context.attach(context.set_value("mine", 1))
            try:
                with broken_logging():
                    program()
            finally:
                context.detach(token)

        return call

    @pytest.mark.parametrize("absorbed", ABSORBED)
    def test_a_foreign_fault_is_not_the_applications(self, everything, absorbed, caplog):
        """Whichever part of the set-up raises, and our log besides."""
        caplog.set_level("WARNING", logger="opentelemetry")

        everything(**FOREIGN[absorbed]())

        assert [line for line in caplog.messages if "detach" in line] == []

    def test_an_error_of_the_set_up_is_raised(self, instrumentor, core, run, saboteur):
        """The error of a processor, sampler or id generator is the application's to see, and the next query works."""

        def instrument():
            instrumentor.instrument(core=core, **FULL, **FOREIGN[saboteur]())

        async def main(connection):
            if self.is_connected_before:
                await wait(self.query(connection))
                instrument()
            for ask in self.asked:
                with raising_once():
                    await wait(ask(connection))
            instrumentor.uninstrument()
            await wait(self.query(connection))

        if not self.is_connected_before:
            instrument()
        run(main)

    def test_a_fault_of_ours_is_counted_only(self, everything, no_faults, monkeypatch, place):
        """In whichever function of the wrapper."""

        def break_it():
            monkeypatch.setattr(*self.own[place], as_ours(broken))

        if place in self.bound:
            break_it()
            everything(**plain())
        else:
            everything(break_it, **plain())

        assert no_faults.counts()

    def test_an_exception_is_the_very_same(self, wrap, run, monkeypatch, raised, error):
        """Whatever the library raises, also what cannot be made a text."""
        owner, name, ask = raised() if callable(raised) else raised

        def fail(*_args, **_kwargs):
            raise error

        async def fail_async(*_args, **_kwargs):
            raise error

        is_async = inspect.iscoroutinefunction(getattr(owner, name))
        monkeypatch.setattr(owner, name, fail_async if is_async else fail)
        wrap()

        async def main(connection):
            before = context.get_current()
            with pytest.raises(type(error)) as found:
                await wait(ask(connection))
            assert found.value is error
            assert context.get_current() is before

        run(main)

    def test_who_asks_to_stop_is_heard(self, wrap, run, seen, monkeypatch):
        """A KeyboardInterrupt while a processor runs reaches the application, in the context that it had."""
        wrap(self.quiet)
        processor = seen.tracer_provider._active_span_processor._span_processors[0]

        async def main(connection):
            before = context.get_current()
            for stop in self.stops:

                def fail(*_args, stop=stop, **_kwargs):
                    raise stop

                for at in self.stopped_at:
                    with monkeypatch.context() as patched:
                        patched.setattr(processor, at, fail)
                        with pytest.raises(stop):
                            await wait(self.asked[0](connection))
                    assert context.get_current() is before
                    await wait(self.query(connection))

        run(main)
