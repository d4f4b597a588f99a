"""How websocket sessions of either client end: closed, left, refused, broken, made again, forgotten."""

from __future__ import annotations

import asyncio
import gc
import weakref

import openai
import pytest
from both import run, take, wait, within
from sockets import EVENTS, RECONNECTS, connect, created, done, error, failure, only, server, settings
from websockets.exceptions import ConnectionClosedError

__all__ = ["server", "settings"]
reconnecting = pytest.mark.skipif(not RECONNECTS, reason="this release of the client does not connect again")


def test_a_connection_that_fails(kind, settings, instrumented):
    """The error is the caller's, and the span's."""

    async def talk(client):
        with pytest.raises(ConnectionRefusedError):
            await wait(connect(client).enter())

    run(kind, talk, **{**settings, "websocket_base_url": "ws://127.0.0.1:1/v1"})
    assert failure(only(instrumented)) == ("ERROR", "ConnectionRefusedError")


def test_an_exception_in_the_body(scenario, server, instrumented):
    """What `with` is left with is the session's error."""
    server.scripts = [EVENTS]

    async def talk(client):
        with pytest.raises(LookupError):
            async with within(connect(client)):
                raise LookupError("mine")

    scenario(talk)
    assert failure(only(instrumented)) == ("ERROR", "LookupError")


def test_the_server_closes_with_a_code(scenario, server, instrumented):
    """The session is over then, whatever the caller does next."""
    server.scripts = [[*EVENTS, 1011]]

    async def talk(client):
        async with within(connect(client)) as connection:
            with pytest.raises(ConnectionClosedError):
                await take(connection)
            assert failure(only(instrumented)) == ("ERROR", "websockets.exceptions.ConnectionClosedError")

    scenario(talk)
    assert "1011" in only(instrumented).status.description
    assert only(instrumented).attributes["gen_ai.usage.input_tokens"] == 20


def test_the_server_says_why_it_closes(scenario, server, instrumented):
    """Its complaint tells more than its code."""
    server.scripts = [[created(), error("session_expired"), 4000]]

    async def talk(client):
        async with within(connect(client)) as connection:
            with pytest.raises(ConnectionClosedError):
                await take(connection)

    scenario(talk)
    assert failure(only(instrumented)) == ("ERROR", "session_expired")
    assert only(instrumented).status.description == "No such thing."


@pytest.mark.parametrize(
    ("script", "expected"),
    [([created(), error(), done(), 1000], ("UNSET", None)), ([created(), error(), 1000], ("ERROR", "invalid_value"))],
)
def test_a_complaint(script, expected, scenario, server, instrumented):
    """Is the session's error where it never answered; a session goes on after most of them."""
    server.scripts = [script]

    async def talk(client):
        async with within(connect(client)) as connection:
            await take(connection)

    scenario(talk)
    assert failure(only(instrumented)) == expected


@reconnecting
def test_a_connection_that_is_made_again_is_the_same_session(scenario, server, instrumented):
    """The client reconnects where it is asked to; one span, and the tokens of all."""
    server.scripts = [[created(), done(1), 1012], [created(), done(2), 1000]]

    async def talk(client):
        manager = connect(client, on_reconnecting=lambda _event: None, initial_delay=0.001)
        async with within(manager) as connection:
            return len(await take(connection, 4))

    assert scenario(talk) == 4
    assert len(server.paths) == 2
    assert failure(only(instrumented)) == ("UNSET", None)
    assert only(instrumented).attributes["gen_ai.usage.input_tokens"] == 40


@reconnecting
def test_a_connection_that_is_given_up(scenario, server, instrumented):
    """It is made again until it is not: then the session ends with what was said of the last one."""
    server.scripts = [[created(), 1012]]

    async def talk(client):
        manager = connect(client, on_reconnecting=lambda _event: {"abort": True}, initial_delay=0.001)
        with pytest.raises(ConnectionClosedError):
            async with within(manager) as connection:
                await take(connection)

    scenario(talk)
    assert failure(only(instrumented)) == ("ERROR", "websockets.exceptions.ConnectionClosedError")


def test_a_connection_that_nobody_closes(kind, settings, server, instrumented):
    """It ends when it is collected; the client's own connection is a cycle."""
    server.scripts = [EVENTS]

    async def talk(client):
        connection = await wait(connect(client).enter())
        await wait(connection.recv())
        socket, found = connection._connection, weakref.ref(connection)
        del connection
        gc.collect()
        assert found() is None
        await wait(socket.close())

    run(kind, talk, **settings)
    assert failure(only(instrumented)) == ("ERROR", "_OTHER")
    assert only(instrumented).status.description == "abandoned session"


def test_a_session_of_another_provider(kind, instrumented):
    """By the client's class, whatever the URL, as for any call."""
    own = openai.AzureOpenAI if kind == "sync" else openai.AsyncAzureOpenAI
    azure = {"azure_endpoint": "http://localhost:1", "api_version": "2024-10-01", "api_key": "a"}

    async def talk(client):
        with pytest.raises(OSError):  # noqa: PT011  # which one is the system's
            await wait(connect(client).enter())

    async def main():
        await talk(own(**azure, websocket_base_url="ws://127.0.0.1:1/openai"))

    asyncio.run(main())
    found = only(instrumented).attributes
    assert (found["gen_ai.provider.name"], found["server.address"]) == ("azure.ai.openai", "127.0.0.1")
