"""redis-py on a real server, and Cassandra's driver on Simulacron: commands, pipelines, pages, errors, callbacks."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

from faultcheck.workloads.drivers import Drivers, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultcheck.host import Host


class Redis(Drivers):
    """Commands, pipelines, transactions, scripts, locks, subscriptions, in both forms."""

    about = ("otel_fastpath/db/redis/", "otel_fastpath/db/repeats.py")
    settings = {"redis_options": "parameters,slow=1us,repeats=2"}  # read only

    def run(self, host: Host) -> None:
        """With a client of its own, and in an event loop."""
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        with redis.Redis(port=int(self.servers["redis"])) as client:
            for name, call in self._steps(client).items():
                host.step(name, named, redis.RedisError, call)
        nobody = redis.Redis(port=1, retry=Retry(NoBackoff(), 1))
        host.step("no server", named, redis.RedisError, lambda: nobody.get("a"))
        host.step("no server: pipeline", named, redis.RedisError, lambda: nobody.pipeline().get("a").execute())
        asyncio.run(self._main(host))

    def _steps(self, client: Any) -> dict[str, Callable[[], Any]]:
        return {
            "empty": lambda: (client.flushall(), client.script_flush()),
            "set": lambda: client.set("a", "1", ex=60),
            "get": lambda: client.get("a"),
            "missing": lambda: client.get("b"),
            "wrong type": lambda: client.lpush("a", "x"),
            "no command": lambda: client.execute_command("NOPE", "x"),
            "nothing": lambda: client.execute_command(),  # noqa: PLW0108  # the attribute is looked up in the step
            "pipeline": lambda: client.pipeline(transaction=False).set("b", "2").get("b").execute(),
            "transaction": lambda: client.pipeline().incr("b").get("b").execute(),
            "an empty pipeline": lambda: client.pipeline().execute(),
            "pipeline fails": lambda: client.pipeline().lpush("a", "x").get("a").execute(),
            "watched": lambda: self._watched(client),
            "script": lambda: client.register_script("return ARGV[1]")(args=["x"]),
            "lock": lambda: self._locked(client),
            "published": lambda: self._published(client),
            "iterated": lambda: sorted(client.scan_iter(count=1)),
            "within": lambda: self.within(lambda: [client.get("a") for _ in range(3)]),
        }

    def _watched(self, client: Any) -> Any:
        with client.pipeline() as pipeline:
            pipeline.watch("a")
            found = pipeline.get("a")
            client.set("a", "3")
            pipeline.multi()
            pipeline.set("a", "4")
            return found, pipeline.execute()

    def _locked(self, client: Any) -> Any:
        lock = client.lock("mine", timeout=5)
        # One that is made would be another each time.
        found = lock.acquire(token="token"), lock.owned()  # noqa: S106  # no secret
        lock.release()
        return found

    def _published(self, client: Any) -> Any:
        with client.pubsub() as pubsub:
            pubsub.subscribe("news")
            first = pubsub.get_message(timeout=5)
            client.publish("news", "x")
            return first["type"], pubsub.get_message(timeout=5)["data"]

    async def _main(self, host: Host) -> None:
        import redis.asyncio

        async with redis.asyncio.Redis(port=int(self.servers["redis"])) as client:
            await host.astep("async: set", client.set, "c", "1")
            await host.astep("async: get", client.get, "c")
            await host.astep("async: pipeline", client.pipeline().get("c").get("d").execute)
            await host.astep("async: error", self._failed, client)
            await host.astep("async: cancelled", self._cancelled, client)
            await host.astep("async: published", self._async_published, client)

    async def _failed(self, client: Any) -> Any:
        import redis

        try:
            return await client.lpush("c", "x")
        except redis.RedisError as error:
            return type(error).__name__

    async def _cancelled(self, client: Any) -> Any:
        task = asyncio.ensure_future(client.blpop("nothing", 10))
        await asyncio.sleep(0.02)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"

    async def _async_published(self, client: Any) -> Any:
        async with client.pubsub() as pubsub:
            await pubsub.subscribe("news")
            return (await pubsub.get_message(timeout=5))["type"]


class Cassandra(Drivers):
    """Queries, prepared statements, batches, futures with callbacks, many at a time, errors."""

    about = ("otel_fastpath/db/cassandra/",)
    settings = {"cassandra_options": "parameters,rows"}  # read only

    def run(self, host: Host) -> None:
        """In a session of its own: its threads do not outlive a fork."""
        from cassandra import DriverException
        from cassandra.cluster import Cluster

        cluster = Cluster(["127.0.0.1"], int(self.servers["cassandra"]), protocol_version=4)
        session = host.step("connect", cluster.connect)
        if session is not None:
            for name, call in self._steps(session).items():
                host.step(name, named, DriverException, call)
        host.step("shutdown", cluster.shutdown)

    def _steps(self, session: Any) -> dict[str, Callable[[], Any]]:
        from cassandra.cluster import EXEC_PROFILE_DEFAULT
        from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
        from cassandra.query import BatchStatement, SimpleStatement

        text = "SELECT a FROM t"
        prepared: list[Any] = []
        return {
            "select": lambda: [tuple(row) for row in session.execute(text)],
            "again": lambda: [tuple(row) for row in session.execute(text)],
            "statement": lambda: [tuple(row) for row in session.execute(SimpleStatement(text, fetch_size=1))],
            "prepare": lambda: prepared.append(session.prepare("SELECT a FROM t WHERE a = ?")),
            "prepared": lambda: [tuple(row) for row in session.execute(prepared[0], [1])],
            "batch": lambda: len(list(session.execute(BatchStatement().add("INSERT INTO t (a) VALUES (1)")))),
            "future": lambda: [tuple(row) for row in session.execute_async(text).result()],
            "callback": lambda: self._called_back(session, text),
            "callback of an error": lambda: self._called_back(session, "SELECT gone"),
            "many": lambda: [each.success for each in execute_concurrent(session, [(text, ())] * 4, concurrency=2)],
            "many with arguments": lambda: self._many(execute_concurrent_with_args, session, prepared[0]),
            "syntax error": lambda: session.execute("SELECT gone"),
            "timeout": lambda: session.execute("SELECT slow", timeout=0.05),
            "bad arguments": lambda: session.execute(prepared[0], [1, 2]),
            "bad profile": lambda: self._refused(session, text),
            "profile": lambda: len(list(session.execute(text, execution_profile=EXEC_PROFILE_DEFAULT))),
            "within": lambda: self.within(lambda: len(list(session.execute(text)))),
        }

    def _called_back(self, session: Any, text: str) -> Any:
        found: list[Any] = []
        is_called = threading.Event()

        def called(result: Any) -> None:
            found.append(type(result).__name__)
            is_called.set()

        session.execute_async(text).add_callbacks(called, called)
        is_called.wait(5)
        return found

    def _many(self, function: Any, session: Any, statement: Any) -> Any:
        found = function(session, statement, [(1,), (1,), (1,)], concurrency=1)
        return [(each.success, len(list(each.result_or_exc))) for each in found]

    def _refused(self, session: Any, text: str) -> Any:
        try:
            return session.execute(text, execution_profile="gone")
        except ValueError as error:
            return str(error)
