"""What fails is an error, for what it is: errors of the server, timeouts, cancellations, servers that go away."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
import redis
import redis.asyncio
from opentelemetry.trace import StatusCode
from redis.backoff import NoBackoff
from redis.retry import Retry


def _none():
    """No retries, for either kind of client."""
    return Retry(NoBackoff(), 0)


def _checked(span, kind):
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["error.type"] == kind


def test_a_cancelled_command_is_an_error(look_async):
    """With the stock instrumentation, it is UNSET."""

    async def main(client):
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.blpop(["nothing"], 30), 0.05)

    span = look_async(main).one()

    _checked(span, "asyncio.exceptions.CancelledError")
    assert span.events == ()
    assert (span.end_time - span.start_time) / 1e9 < 20


def test_a_timeout_is_an_error(look_both):
    """The client's own."""

    def main(client):
        with pytest.raises(redis.TimeoutError):
            client.blpop(["nothing"], 30)

    async def main_async(client):
        with pytest.raises(redis.TimeoutError):
            await client.blpop(["nothing"], 30)

    seen = look_both(lambda c: main_async(c) if hasattr(c, "aclose") else main(c), socket_timeout=0.05, retry=None)

    _checked(seen.one(), "redis.exceptions.TimeoutError")


def test_a_refused_connection_is_an_error(wrap, seen):
    """One span for all of its retries."""
    wrap()
    with redis.Redis(port=1, retry=Retry(NoBackoff(), 2)) as client, pytest.raises(redis.ConnectionError):
        client.get("a")

    _checked(seen.one(), "redis.exceptions.ConnectionError")


def test_a_server_that_is_killed_in_mid_command_is_an_error(start_redis, wrap, seen):
    """The command that waits; afterwards, a new server is served as if nothing had happened."""
    server = start_redis()
    wrap()
    with redis.Redis(port=server.port, retry=_none()) as client:
        client.set("a", 1)
        timer = threading.Timer(0.2, server.stop)
        timer.start()
        with pytest.raises(redis.ConnectionError):
            client.blpop(["nothing"], 30)
        timer.join()
        with pytest.raises(redis.ConnectionError):
            client.get("a")
        server.start()
        client.get("a")

    before, waiting, refused, after = seen.spans()
    assert (before.name, waiting.name, refused.name, after.name) == ("SET", "BLPOP", "GET", "GET")
    _checked(waiting, "redis.exceptions.ConnectionError")
    _checked(refused, "redis.exceptions.ConnectionError")
    assert after.status.status_code is StatusCode.UNSET


def test_an_asynchronous_client_sees_it_likewise(start_redis, wrap, seen):
    """Of the server that is killed."""
    server = start_redis()
    wrap()

    async def main():
        async with redis.asyncio.Redis(port=server.port, retry=redis.asyncio.retry.Retry(NoBackoff(), 0)) as client:
            await client.ping()
            asyncio.get_running_loop().call_later(0.2, server.stop)
            with pytest.raises(redis.ConnectionError):
                await client.blpop(["nothing"], 30)

    asyncio.run(main())

    _checked(seen.spans()[-1], "redis.exceptions.ConnectionError")


def test_a_transaction_whose_connection_is_lost_is_an_error(start_redis, wrap, seen):
    """redis-py raises the same exception as for a lost race."""
    server = start_redis()
    wrap()
    with redis.Redis(port=server.port, retry=Retry(NoBackoff(), 1)) as client, client.pipeline() as pipeline:
        pipeline.watch("a")
        pipeline.multi()
        pipeline.set("a", 1)
        server.stop()
        with pytest.raises(redis.WatchError):
            pipeline.execute()

    _checked(seen.spans()[-1], "redis.exceptions.WatchError")


def test_an_exhausted_pool_is_an_error(wrap, redis_server, seen):
    """A pool that does not wait, and one that waits too long."""
    wrap()
    for pool in (
        redis.ConnectionPool(port=redis_server.port, max_connections=1),
        redis.BlockingConnectionPool(port=redis_server.port, max_connections=1, timeout=0.05),
    ):
        client = redis.Redis(connection_pool=pool)
        held = pool.get_connection(*([] if redis.VERSION >= (5, 3) else ["_"]))
        started = time.monotonic()
        with pytest.raises(redis.ConnectionError):
            client.get("a")
        assert time.monotonic() - started < 20
        pool.release(held)
        assert client.get("text") == b"a"
        pool.disconnect()

    first, _, second, _ = seen.spans()
    assert first.status.status_code is second.status.status_code is StatusCode.ERROR
    assert first.attributes["error.type"].startswith("redis.exceptions.")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_command_is_an_error(wrap, run, monkeypatch, seen, stop):
    """Its span ends, and it is raised."""
    wrap()

    def interrupted(*_args, **_kwargs):
        raise stop

    monkeypatch.setattr(redis.connection.AbstractConnection, "send_command", interrupted)
    with pytest.raises(stop):
        run(lambda client: client.get("a"))

    _checked(seen.one(), stop.__name__)
