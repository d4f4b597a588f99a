"""Websocket sessions of either client with a real server: one span each, and every event as it came."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil

import openai
import pytest
from both import run, take, wait, within
from openai import resources
from opentelemetry import context, trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from sockets import EVENTS, MODEL, SESSIONS, completed, connect, created, delta, done, needs, only, server, settings
from telemetry import Kept, ours

from otel_fastpath.genai.openai.realtime import sockets

__all__ = ["server", "settings"]
# Some are on their way out, and a client's all the same.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.proves("openai.socket.*.with*", "openai.socket.*.exit*")
@pytest.mark.parametrize("name", SESSIONS)
def test_every_session_is_one_span(name, kind, core, server, settings, kept):
    """From each `connect` there is, and with it the caller gets what it gets without us."""
    server.scripts = [[*EVENTS, 1000]]

    async def talk(client):
        async with within(connect(client, name)) as connection:
            return type(connection), [event.model_dump() for event in await take(connection)]

    bare = run(kind, talk, **settings)
    with ours(kept, core=core):
        assert run(kind, talk, **settings) == bare
    assert len(bare[1]) == len(EVENTS)
    span = only(kept)
    operation = f"{name.removeprefix('beta.')}.connect"
    assert span.name == (f"{operation} {MODEL}" if "model" in SESSIONS[name] else operation)
    assert (span.kind.name, span.status.status_code.name) == ("CLIENT", "UNSET")
    assert {key: span.attributes.get(key) for key in ("gen_ai.operation.name", "gen_ai.provider.name")} == {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": "openai",
    }
    assert (span.attributes["server.address"], span.attributes["server.port"]) == server.address
    assert span.attributes.get("gen_ai.request.model") == SESSIONS[name].get("model")


def test_a_session_tells_the_sum_of_its_responses(scenario, server, instrumented):
    """Tokens of all of them, each reason once, the id of the only one; the metrics as of any call."""
    late = done(3, "incomplete", status_details={"type": "incomplete", "reason": "max_output_tokens"})
    server.scripts = [[created(), done(1), delta("x"), done(2), late, 1000]]

    async def talk(client):
        async with within(connect(client)) as connection:
            await take(connection)

    scenario(talk)
    found = dict(only(instrumented).attributes)
    assert found == {
        "gen_ai.operation.name": "realtime.connect",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "server.address": server.address[0],
        "server.port": server.address[1],
        "gen_ai.response.model": "gpt-realtime-2026",
        "gen_ai.conversation.id": "sess_1",
        "gen_ai.response.finish_reasons": ("stop", "length"),
        "gen_ai.usage.input_tokens": 60,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 12,
        "gen_ai.usage.audio.input_tokens": 36,
        "gen_ai.usage.text.input_tokens": 24,
        "gen_ai.usage.audio.output_tokens": 21,
        "gen_ai.usage.text.output_tokens": 9,
    }
    series = instrumented.series()
    assert set(series) == {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}
    own = {key: found[key] for key in found if key.startswith("server.")} | {
        key: found[key]
        for key in ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model", "gen_ai.response.model")
    }
    ((_, _, duration),) = series["gen_ai.client.operation.duration"]
    assert (dict(duration.attributes), duration.count) == (own, 1)
    tokens = {point.attributes["gen_ai.token.type"]: point for _, _, point in series["gen_ai.client.token.usage"]}
    assert {kind: point.sum for kind, point in tokens.items()} == {"input": 60, "output": 30}
    assert dict(tokens["input"].attributes) == {**own, "gen_ai.token.type": "input"}


@needs("responses")
def test_a_session_of_responses(scenario, server, instrumented):
    """Its own words for tokens, and the one response's id."""
    server.scripts = [[completed(), 1000]]

    async def talk(client):
        async with within(connect(client, "responses")) as connection:
            await take(connection)

    scenario(talk)
    found = only(instrumented).attributes
    assert found["openai.api.type"] == "responses"
    assert found["gen_ai.response.id"] == "resp_1"
    assert found["gen_ai.response.model"] == "gpt-4o-mini-2026"
    assert found["gen_ai.response.finish_reasons"] == ("stop",)
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.usage.output_tokens"]) == (5, 6)
    assert found["gen_ai.usage.cache_read.input_tokens"] == 2
    assert found["gen_ai.usage.reasoning.output_tokens"] == 1


@needs("live")
def test_a_live_session_tells_of_what_it_delegates(scenario, server, instrumented):
    """The tokens of the responses that it asks for itself."""
    inner = {**completed(), "response": {**completed()["response"], "output": []}}
    wrapped = {"type": "response.event", "event_id": "event_1", "event": inner, "delegation_id": "del_1"}
    started = {**created(), "type": "session.started"}
    server.scripts = [[started, wrapped, {**wrapped, "event": {"type": "response.created"}}, 1000]]

    async def talk(client):
        async with within(connect(client, "live")) as connection:
            await take(connection)

    scenario(talk)
    found = only(instrumented).attributes
    assert (found["gen_ai.usage.input_tokens"], found["gen_ai.conversation.id"]) == (5, "sess_1")


def test_enter_and_close(scenario, server, instrumented):
    """Without `with`: from `enter()` to `close()`, not before and not twice; then the methods are the client's own."""
    server.scripts = [EVENTS]

    async def talk(client):
        connection = await wait(connect(client).enter())
        assert len([await wait(connection.recv()) for _ in EVENTS]) == len(EVENTS)
        assert trace.get_current_span() is trace.INVALID_SPAN
        assert instrumented.spans == []
        await wait(connection.send({"type": "response.create"}))
        await wait(connection.close())
        assert len(instrumented.spans) == 1
        assert not {"parse_event", "recv_bytes", "close", "send"} & set(vars(connection))
        await wait(connection.close())

    scenario(talk)
    assert only(instrumented).attributes["gen_ai.usage.input_tokens"] == 20


@pytest.mark.proves("openai.socket.*.enter*")
@pytest.mark.parametrize("name", SESSIONS)
def test_every_session_can_be_entered_without_with(name, kind, core, server, settings, kept):
    """It is one span until it is closed, and the caller gets what it gets without us."""
    server.scripts = [EVENTS]

    async def talk(client):
        connection = await wait(connect(client, name).enter())
        received = [(await wait(connection.recv())).model_dump() for _ in EVENTS]
        await wait(connection.close())
        return type(connection), received

    bare = run(kind, talk, **settings)
    with ours(kept, core=core):
        assert run(kind, talk, **settings) == bare
    assert only(kept).status.status_code.name == "UNSET"


def test_messages_that_the_caller_parses(scenario, server, instrumented):
    """`recv_bytes` and `parse_event` are heard as well, each message once."""
    server.scripts = [EVENTS]

    async def talk(client):
        async with within(connect(client)) as connection:
            for sent in EVENTS:
                data = await wait(connection.recv_bytes())
                assert json.loads(data) == sent
                assert connection.parse_event(data).type == sent["type"]

    scenario(talk)
    assert only(instrumented).attributes["gen_ai.usage.input_tokens"] == 20


def test_odd_events_are_the_callers(scenario, server, instrumented):
    """Whatever the server sends, it is passed on and nothing of ours fails."""
    odd = [
        {"type": "response.done"},
        {"type": "response.done", "response": {"usage": {"input_tokens": "many"}, "output": 3}},
        {"type": "session.updated", "session": None},
        {"type": "error"},
        {"type": ["a"]},
        {},
    ]
    server.scripts = [[*odd, 1000]]

    async def talk(client):
        async with within(connect(client)) as connection:
            return len(await take(connection))

    assert scenario(talk) == len(odd)
    assert "gen_ai.usage.input_tokens" not in only(instrumented).attributes


def test_a_session_that_is_suppressed_or_not_sampled(kind, settings, server, environ):  # noqa: ARG001  # no settings
    """Suppressed: nothing. Not sampled: measured, as any call."""
    kept = Kept(sampler=ALWAYS_OFF)
    server.scripts = [[done(), 1000]]

    async def talk(client):
        async with within(connect(client)) as connection:
            await take(connection)

    with ours(kept):
        token = context.attach(context.set_value(context._SUPPRESS_INSTRUMENTATION_KEY, value=True))
        try:
            run(kind, talk, **settings)
        finally:
            context.detach(token)
        assert kept.series() == {}
        run(kind, talk, **settings)
    assert kept.spans == []
    assert {name: points[0][2].count for name, points in kept.series().items()} == {
        "gen_ai.client.operation.duration": 1,
        "gen_ai.client.token.usage": 1,
    }
    kept.shut_down()


def test_uninstrumented_sessions_are_bare(kind, settings, server, kept):
    """The classes are as they were; a session that was open is told of to its end."""
    server.scripts = [EVENTS]
    owners = [
        vars(getattr(importlib.import_module(module), name))
        for module, name in sorted(connection_managers() & known_managers())
    ]
    bare = [dict(each) for each in owners]

    async def talk(client):
        with ours(kept):
            assert [dict(each) for each in owners] != bare
            connection = await wait(connect(client).enter())
        async with within(connect(client)) as other:
            await wait(other.recv())
            assert "recv_bytes" not in vars(other)
        for _ in EVENTS:
            await wait(connection.recv())
        assert kept.spans == []
        await wait(connection.close())

    run(kind, talk, **settings)
    assert [dict(each) for each in owners] == bare
    assert only(kept).attributes["gen_ai.usage.input_tokens"] == 20


def test_connections_look_as_they_are(scenario, instrumented):  # noqa: ARG001  # ours is in place
    """Names, signatures, and whether they are coroutine functions."""

    async def talk(client):
        async with within(connect(client)) as connection:
            for name in ("recv_bytes", "close", "parse_event"):
                mine, own = vars(connection)[name], getattr(type(connection), name).__get__(connection)
                assert inspect.signature(mine) == inspect.signature(own)
                assert (mine.__name__, mine.__doc__) == (own.__name__, own.__doc__)
                assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(own)
        assert isinstance(client, openai.OpenAI | openai.AsyncOpenAI)

    scenario(talk)


def connection_managers():
    """Module and name of every class of the installed client that connects."""
    found = set()
    for module in pkgutil.walk_packages(resources.__path__, "openai.resources."):
        names = vars(importlib.import_module(module.name))
        found |= {
            (each.__module__, each.__name__)
            for each in names.values()
            if isinstance(each, type) and each.__name__.endswith("ConnectionManager")
        }
    return found


def known_managers():
    """Likewise of those in the table."""
    return {
        (f"openai.resources.{module}", f"{before}{name}ConnectionManager")
        for _, module, name in sockets.SESSIONS
        for before in ("", "Async")
    }


def test_every_websocket_of_the_client_is_known():
    """A class that connects and is not in the table would go untold; what is known and gone is of other releases."""
    found = connection_managers()
    assert found
    assert found <= known_managers()
    assert len(found) == 2 * len(SESSIONS)
