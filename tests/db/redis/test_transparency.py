"""What an application sees of redis-py is the same: signatures, kinds of functions, subclasses, others' patches."""

from __future__ import annotations

import os
import sys
import threading

import pytest
import redis
import redis.asyncio
import redis.asyncio.cluster
import wrapt


def _vendor(wrapped, _client, args, kwargs):
    """What a package of a vendor puts around a method."""
    CALLS.append(args)
    return wrapped(*args, **kwargs)


CALLS: list[tuple[object, ...]] = []


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_vendors_patch_works_beside_ours(wrap, instrumentor, monkeypatch, run, run_async, seen, ours_first):
    """On the same methods, before or after; ours undone, theirs stays."""
    CALLS.clear()
    if ours_first:
        wrap()
    for owner, name in (
        (redis.Redis, "execute_command"),
        (redis.client.Pipeline, "execute"),
        (redis.asyncio.Redis, "execute_command"),
        (redis.asyncio.client.Pipeline, "execute"),
    ):
        monkeypatch.setattr(owner, name, wrapt.FunctionWrapper(vars(owner)[name], _vendor))
    if not ours_first:
        wrap()

    def main(client):
        assert client.get("text") == b"a"
        assert client.pipeline().get("text").execute() == [b"a"]

    async def main_async(client):
        assert await client.get("text") == b"a"
        assert await client.pipeline().get("text").execute() == [b"a"]

    run(main)
    run_async(main_async)
    assert seen.names() == ["GET", "MULTI GET"] * 2
    assert len(CALLS) == 4
    instrumentor.uninstrument()
    run(main)
    run_async(main_async)

    assert len(CALLS) == 8
    assert seen.spans() == ()


def test_subclasses_have_one_span(wrap, redis_server, seen):
    """That of the class below them, whatever they do around it."""
    wrap()

    class Mine(redis.Redis):
        def execute_command(self, *args, **options):
            return super().execute_command(*args, **options).upper()

    with Mine(port=redis_server.port) as client:
        assert client.get("text") == b"A"

    assert seen.names() == ["GET"]


def test_a_client_that_was_made_before_is_seen(wrap, instrumentor, redis_server, seen):
    """And no longer once ours is undone; the set-up may change meanwhile."""
    with redis.Redis(port=redis_server.port) as client:
        client.get("a")
        wrap()
        client.get("a")
        assert seen.names() == ["GET"]
        wrap("no-metrics")
        client.get("a")
        assert seen.names() == ["GET"]
        instrumentor.uninstrument()
        client.get("a")

    assert seen.spans() == ()


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="no fork is safe here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_goes_on(wrap, redis_server, seen):
    """With the client that its parent used."""
    wrap("no-metrics")
    with redis.Redis(port=redis_server.port) as client:
        client.get("text")
        seen.spans()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            answer = b"it failed"
            try:
                client.get("text")
                answer = ",".join(span.name for span in seen.spans()).encode()
            finally:
                os.write(write, answer)
                os._exit(0)
        os.waitpid(child, 0)
        os.close(write)
        with os.fdopen(read, "rb") as answers:
            assert answers.read() == b"GET"
        assert client.get("text") == b"a"

    assert seen.names() == ["GET"]


def test_threads_share_a_client(wrap, redis_server, seen):
    """Each command has the span of its own thread as its parent, also at the same time over one pool."""
    wrap("no-metrics")
    tracer = seen.tracer_provider.get_tracer("test")
    client = redis.Redis(port=redis_server.port)

    def work(number):
        for _ in range(20):
            with tracer.start_as_current_span(f"work {number}") as parent:
                client.get("text")
                client.pipeline().get("text").get("a").execute()
            parents.add(parent.get_span_context().span_id)

    parents: set[int] = set()
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()

    spans = [span for span in seen.spans() if span.parent is not None]
    assert len(spans) == 320
    for name in ("GET", "MULTI GET"):
        assert {span.parent.span_id for span in spans if span.name == name} == parents
