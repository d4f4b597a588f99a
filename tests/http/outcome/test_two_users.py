"""Users call in turn while stock's functions, hooks and details name whoever calls: each has its own telemetry."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import users
from client_hosts import CLIENTS, serving
from hosts import CLIENT_HOOKS, HOOKS_OF
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from newer_releases import fastapi_own
from server_hosts import ASGI, SERVERS, environ, scope

pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class _InstrumentedApplication:DeprecationWarning"),
]

HOSTS = [pytest.param(name, marks=fastapi_own if name == "FastAPI's own" else ()) for name in (*SERVERS, *CLIENTS)]
FEW = settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
# The folder of `http` that a host uses, if it has another name, and its hooks.
FOLDERS = {
    "starlette": "asgi",
    "fastapi": "asgi",
    "FastAPI's own": "fastapi",
    "aiohttp.web": "aiohttp_server",
    "httpx, async": "httpx",
    "aiohttp": "aiohttp_client",
}


@pytest.fixture(scope="module")
def server():
    """The URL of a server for the clients."""
    with serving() as url:
        yield url


def _called(name, url, turn, order):
    """The host, called by these users."""
    if name in CLIENTS:
        calls = [("GET", "{url}/200?a=1")] * len(order)
        return lambda given: CLIENTS[name](given, url, turn.each(order, calls))
    if name == "aiohttp.web":
        requests = [("/items/3?a=1", {})] * len(order)
    else:
        requests = [(scope if name in ASGI else environ)("/items/3")] * len(order)
    return lambda given: SERVERS[name](given, turn.each(order, requests))


def _given(turn, hooks):
    made = {}
    for each in hooks:
        made[each] = turn.async_hook if each.startswith("async_") else turn.hook
        if each == "default_span_details":
            made[each] = turn.details
    return made


def _compare(instrumentor, core, name, url, *, order, places, hooks, is_open, is_before):
    turn = users.Turn()
    run, given = _called(name, url, turn, order), _given(turn, hooks)
    with users.replaced(turn, places, is_open=is_open):
        expected = users.telemetry(run, given)
    with ExitStack() as stack:
        if is_before:
            stack.enter_context(users.replaced(turn, places, is_open=is_open))
        instrumentor.instrument(core=core, disabled="exceptions")
        try:
            if not is_before:
                # What is kept is kept before.
                users.telemetry(run, given)
                stack.enter_context(users.replaced(turn, places, is_open=is_open))
            found = users.telemetry(run, given)
        finally:
            instrumentor.uninstrument()
    assert found == expected


@pytest.mark.parametrize("name", HOSTS)
def test_two_users(instrumentor, core, server, name):
    """Whichever functions were replaced, before or after this package instruments, and whoever calls first."""
    places = users.positions(FOLDERS.get(name, name))

    @FEW
    @given(data=st.data())
    def holds(data):
        _compare(
            instrumentor,
            core,
            name,
            server,
            order=data.draw(st.lists(st.sampled_from(users.NAMES), min_size=2, max_size=4)),
            places=[places[key] for key in data.draw(st.sets(st.sampled_from(sorted(places)), min_size=1, max_size=3))],
            hooks=data.draw(st.sets(st.sampled_from(hooks))) if (hooks := HOOKS_OF.get(name, CLIENT_HOOKS)) else (),
            is_open=data.draw(st.booleans()),
            is_before=data.draw(st.booleans()),
        )

    holds()


@pytest.mark.parametrize("door", users.DOORS)
@pytest.mark.parametrize("name", HOSTS)
def test_what_the_sdk_is_given_is_the_calls_own(instrumentor, core, server, name, door):
    """An application's code may add to the attributes that a sampler, a tracer or an instrument is given."""
    turn = users.Turn()
    instrumentor.instrument(core=core, disabled="exceptions")
    run = _called(name, server, turn, users.TURNS * 2)

    with users.added(turn, door):
        assert users.mixed(users.telemetry(run, {})) == []


@pytest.mark.slow
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("name", HOSTS)
def test_each_function(instrumentor, core, server, name, is_before):
    """Each function alone that a server or a client rests on: its replacement is followed."""
    how = {"order": users.NAMES, "hooks": (), "is_open": False, "is_before": is_before}
    for place in users.positions(FOLDERS.get(name, name)).values():
        _compare(instrumentor, core, name, server, places=[place], **how)
