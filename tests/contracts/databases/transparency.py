"""What an application sees of a library is the same."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from contracts.databases.contract import Contract, wait
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

QUERY_OF_ITSELF = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() -- mine"


class Transparency(Contract):
    """What an application sees of the library is the same.

    Attributes:
        owners: The classes and modules of the library.
        replaced: How many of their attributes are replaced, or the names of all.
        on_top: Places that others patch, as another package would.
        topped: What calls each of them once.
        comments: Functions of a connection and a query of itself, which return the text that the server got.
    """

    owners = ()
    replaced = range(1, 999)
    on_top = ()
    topped = None
    comments = []

    def _attributes(self):
        # Python adds `__annotations__` to a class when somebody first asks for them.
        found = ((owner, *item) for owner in self.owners for item in vars(owner).items())
        return {(owner, name): value for owner, name, value in found if not name.startswith("__annot")}

    @pytest.mark.filterwarnings("ignore:'asyncio.iscoroutinefunction':DeprecationWarning")
    def test_functions_look_the_same_and_nothing_is_left(self, wrap, instrumentor, run):
        """Each that is replaced; after `uninstrument()`, each attribute is the very same object as before."""
        before = self._attributes()
        looked = {place: _look_of(value) for place, value in before.items()}
        wrap()

        found = {place: value for place, value in self._attributes().items() if value is not before.get(place)}
        replaced = {place: value for place, value in found.items() if not isinstance(value, int)}
        assert (
            len(replaced) in self.replaced
            if isinstance(self.replaced, range)
            else ({name for _, name in replaced} == self.replaced)
        )
        assert [place for place in replaced if looked.get(place) not in (None, _look_of(replaced[place]))] == []
        run(self.query)
        instrumentor.uninstrument()

        # But for the library's counters.
        after = self._attributes()
        assert after.keys() == before.keys()
        left = [place for place in before if after[place] is not before[place]]
        assert [place for place in left if not isinstance(before[place], int)] == []

    def test_somebody_on_top_stays_and_nothing_is_seen(self, wrap, instrumentor, run, monkeypatch, seen):
        """Wrapped by others meanwhile, ours is inert below them."""
        wrap()
        calls = []
        for owner, name in self.on_top:
            below = getattr(owner, name)

            def method(*args, below=below, name=name, **kwargs):
                calls.append(name)
                return below(*args, **kwargs)

            monkeypatch.setattr(owner, name, method)
        run(self.topped)
        assert sorted(calls) == sorted(name for _, name in self.on_top)
        assert seen.spans()
        instrumentor.uninstrument()
        run(self.topped)

        assert sorted(calls) == sorted([name for _, name in self.on_top] * 2)
        assert seen.spans() == ()

    def test_comments_carry_the_trace(self, look):
        """For who asked: the server sees the query's own span; a percent sign is no placeholder."""
        state = TraceState([("congo", "t61*")])
        parent = NonRecordingSpan(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=state))
        texts = []

        async def main(connection):
            for ask in self.comments:
                with trace.use_span(parent):
                    texts.append(await wait(ask(connection, QUERY_OF_ITSELF)))

        spans = look(main, options="sqlcommenter").spans()

        for text, span in zip(texts, spans, strict=True):
            made = span.context
            header = f"00-{made.trace_id:032x}-{made.span_id:016x}-{made.trace_flags:02x}"
            assert text.endswith(f"-- mine\n/*traceparent='{header}',tracestate='congo%3Dt61%2A'*/")
            assert "traceparent" not in span.attributes["db.query.text"]

    def test_a_wrong_option_is_one_line(self, wrap, logged, library):
        """What is understood holds."""
        wrap("no-metrics, no-metric")
        (line,) = logged()
        setting = f"OTEL_FASTPATH_{library.upper()}_OPTIONS ({library}_options=)"
        assert line.startswith(f"{setting}: 'no-metric' is not valid; expected any of ")
        assert "; nearest: no-metrics, " in line


def _look_of(value):
    """What can be asked of a function."""
    function = getattr(value, "__func__", value)
    if not inspect.isfunction(function):
        return None
    try:
        signature = inspect.signature(function)
    except (AttributeError, NameError, ValueError) as error:
        # Some annotations name what their module does not import; functions in C have no signature.
        signature = str(error)
    asks = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return (
        *(type(value), signature, *(ask(function) for ask in asks), _is_marked(function)),
        *(function.__name__, function.__qualname__, function.__doc__, function.__module__),
    )


def _is_marked(function):
    return inspect.iscoroutinefunction(function) or asyncio.iscoroutinefunction(function)
