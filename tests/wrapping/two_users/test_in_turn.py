"""Users of one connection in turn, while stock's functions name whoever calls: each has its own telemetry."""

from __future__ import annotations

import importlib
import inspect
import json
from contextlib import ExitStack

import pytest
import users
from connections import HOSTS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_fastpath.patching.stock import Reached

# The same ones each time: `test_each_function` goes through all of them.
FEW = settings(max_examples=3, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
WHEN = ("before", "after", "called")


@pytest.fixture
def cassandra(simulacron):
    """A cluster that answers each query with nothing."""
    made = simulacron.cluster(1)
    yield made
    made.stop()


@pytest.fixture(params=HOSTS)
def host(request):
    """Stock's instrumentor, its arguments and the calls of each library."""
    folder, place, keywords, server, calls = HOSTS[request.param]
    module, _, name = place.partition(":")
    pytest.importorskip(folder)
    stock = pytest.importorskip(f"opentelemetry.instrumentation.{module}")
    found = None if server is None else request.getfixturevalue(server)
    return folder, getattr(stock, name)(), keywords, lambda: calls(found)


def _outcome(call, user):
    """What came of a user's call: a function that returns too much may break stock's, too."""
    try:
        call(user)
    except (TypeError, KeyError, ValueError) as error:
        return type(error).__name__
    return ""


def _run(host, turn, order, *, places, is_open, when):
    """What runs the calls of these users, given the arguments of stock's instrumentor."""
    _, stock, keywords, calls = host

    def run(providers):
        outcomes = []
        with ExitStack() as stack:

            def replace_at(moment):
                if when == moment:
                    stack.enter_context(users.replaced(turn, places, is_open=is_open))

            replace_at("before")
            stock.instrument(**keywords, **providers)
            stack.callback(stock.uninstrument)
            replace_at("after")
            # Who connects is the first one.
            turn.user = order[0]
            with calls() as call:
                for moment in ("called", "again"):
                    for turn.user in order:
                        outcomes.append(_outcome(call, turn.user))
                    replace_at(moment)
        return outcomes

    return run


def _stock_of(folder):
    """The functions of stock that the wrapper stands for."""
    if folder == "openai":
        return importlib.import_module("otel_fastpath.genai.openai.patches")._telemetry.by_stock.functions
    module = "engines" if folder == "sqlalchemy" else "query_plans"
    database = importlib.import_module(f"otel_fastpath.db.{folder}.{module}").DATABASE
    return database.active.convention.stock


def _positions(host, instrumentor):
    """Every function of stock that the wrapper stands for, by its place."""
    folder, stock, keywords, _ = host
    instrumentor.instrument(disabled="exceptions")
    stock.instrument(**keywords)
    found = _stock_of(folder).look()[0]
    stock.uninstrument()
    instrumentor.uninstrument()
    # A function that changes the arguments of the client's method changes the call, where stock has them in hand.
    return {
        f"{owner.__name__}.{name}": (owner, name)
        for owner, name, value in found
        if "schema" not in name and (isinstance(value, property) or "kwargs" not in inspect.signature(value).parameters)
    }


def _telemetry(instrumentor, core, host, **how):
    order = how.pop("order")
    turn = users.Turn()
    run = _run(host, turn, order, **how)
    expected = users.telemetry(run, {})
    instrumentor.instrument(core=core, disabled="exceptions")
    try:
        found = users.telemetry(run, {})
    finally:
        instrumentor.uninstrument()
    return tuple(_comparable(each, host[0]) for each in (found, expected))


def _comparable(telemetry, folder):
    """Without times; SQLAlchemy's metric of its pools is a listed difference."""
    outcomes, spans, points = json.loads(telemetry)
    for span in spans:
        span[2] = [each for each in span[2] if each[0] != "gen_ai.response.time_to_first_chunk"]
    return outcomes, spans, [] if folder == "sqlalchemy" else points


def test_two_users(instrumentor, core, host):
    """Whichever functions were replaced, before or after the first call, and whoever calls first."""
    places = _positions(host, instrumentor)

    @FEW
    @given(data=st.data())
    def holds(data):
        found, expected = _telemetry(
            instrumentor,
            core,
            host,
            order=data.draw(st.lists(st.sampled_from(users.NAMES), min_size=2, max_size=3)),
            places=[places[key] for key in data.draw(st.sets(st.sampled_from(sorted(places)), min_size=1, max_size=3))],
            is_open=data.draw(st.booleans()),
            when=data.draw(st.sampled_from(WHEN)),
        )
        assert found == expected

    holds()


@pytest.mark.parametrize("door", users.DOORS)
def test_what_the_sdk_is_given_is_the_calls_own(instrumentor, core, host, door):
    """An application's code may add to the attributes that a sampler, a tracer or an instrument is given."""
    turn = users.Turn()
    instrumentor.instrument(core=core, disabled="exceptions")
    run = _run(host, turn, users.TURNS * 2, places=[], is_open=False, when="never")

    with users.added(turn, door):
        assert users.mixed(users.telemetry(run, {})) == []


def test_the_functions_are_looked_at_once(instrumentor, core, host, monkeypatch):
    """As long as nobody replaces another one, calls do not look for them again: that costs milliseconds."""
    looks = []
    turn = users.Turn()
    places = _positions(host, instrumentor)

    def run(providers):
        _, stock, keywords, calls = host
        stock.instrument(**keywords, **providers)
        turn.user = users.NAMES[0]
        with calls() as call:
            call(turn.user)
            monkeypatch.setattr(Reached, "look", lambda each: looks.append(each) or look(each))
            call(turn.user)
            with users.replaced(turn, [places[min(places)]], is_open=False):
                assert looks == []
                call(turn.user)
                looks.clear()
                call(turn.user)
        stock.uninstrument()

    look = Reached.look
    instrumentor.instrument(core=core, disabled="exceptions")
    users.telemetry(run, {})
    instrumentor.uninstrument()
    assert looks == []


@pytest.mark.slow
@pytest.mark.parametrize("when", WHEN)
def test_each_function(instrumentor, core, host, when):
    """Each function alone that a wrapper rests on: its replacement is followed."""
    how = {"order": users.NAMES[:2], "is_open": False, "when": when}
    unlike = {}
    for key, place in _positions(host, instrumentor).items():
        found, expected = _telemetry(instrumentor, core, host, places=[place], **how)
        if found != expected:
            unlike[key] = found, expected
    assert unlike == {}
