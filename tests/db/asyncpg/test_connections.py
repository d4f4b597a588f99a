"""Connecting, what a connection calls back, and connections from before."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import asyncpg
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode


def test_notifications_and_introspection_make_no_spans(look):
    """They are inside what caused them."""
    told = []

    async def main(connection):
        arrived = asyncio.Event()
        await connection.add_listener("orders", lambda *args: (told.append(args[-1]), arrived.set()))
        await connection.execute("NOTIFY orders, 'hello'")
        await arrived.wait()
        await connection.execute("CREATE TYPE pg_temp.pair AS (a int, b text)")
        await connection.fetch("SELECT (1, 'x')::pg_temp.pair")
        await connection.set_type_codec("json", schema="pg_catalog", encoder=str, decoder=str)
        await connection.reset_type_codec("json", schema="pg_catalog")
        await connection.reload_schema_state()

    names = look(main).names()

    assert told == ["hello"]
    assert names == ['LISTEN "orders"', "NOTIFY orders", "CREATE TYPE pg_temp.pair", "SELECT"]


def test_what_a_listener_does_is_no_part_of_connecting(wrap, run, database_url):
    """It is called in the context that was current where the connection was made."""
    wrap()
    current = []

    async def main(_connection):
        arrived = asyncio.Event()
        connection = await asyncpg.connect(database_url)
        await connection.add_listener("orders", lambda *_: (current.append(trace.get_current_span()), arrived.set()))
        await connection.execute("NOTIFY orders")
        await arrived.wait()
        await connection.close()

    run(main)

    assert current == [trace.INVALID_SPAN]


@pytest.mark.proves("asyncpg.connect", "asyncpg.connect.own", "asyncpg.connect.pooled", "asyncpg.connect.arguments")
def test_connecting_is_a_span(wrap, run, database_url):
    """With the server's attributes from its start, by whatever name asyncpg's function is called."""
    seen = wrap()

    async def main(_connection):
        for connect in (asyncpg.connect, asyncpg.connection.connect):
            await (await connect(database_url)).close()
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await asyncpg.connect("postgresql://nobody@127.0.0.1:1/nothing")
        with pytest.raises(ValueError, match="invalid literal"):
            await asyncpg.connect(port="x")

    run(main)

    first, second, third, refused, wrong = seen.spans()
    assert {span.name for span in (first, second, third, refused, wrong)} == {"CONNECT"}
    assert first.attributes["server.address"] == urlsplit(database_url).hostname
    assert refused.attributes["server.port"] == 1
    assert refused.attributes["db.namespace"] == "nothing"
    assert refused.attributes["error.type"] == "ConnectionRefusedError"
    assert wrong.status.status_code is StatusCode.ERROR


def test_a_connection_from_before_is_seen(wrap, run):
    """One that was made when nothing was wrapped."""
    sink = []

    async def main(connection):
        await connection.fetch("SELECT 1")
        sink.append(wrap())
        await connection.fetch("SELECT 2")

    run(main)

    assert sink[0].names() == ["SELECT"]
