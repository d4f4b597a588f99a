"""Messages that aiokafka sends and receives, one by one and in batches."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from aiokafka import (  # type: ignore[import-untyped]
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRecord,
    TopicPartition,
)
from opentelemetry.instrumentation.aiokafka import AIOKafkaInstrumentor

from otel_fastpath.tools.prove.libraries.message_programs.kafka_messages import (
    KEYS,
    SERVERS,
    TOPICS,
    a_client,
    headers,
    keep,
    replace_methods,
)
from otel_fastpath.tools.prove.libraries.modes import around, hooks, instrumented, providers, run_at_once

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from otel_fastpath.tools.prove.program import ProgramRun


class _Cluster:
    """In the place of aiokafka's own client."""

    def __init__(self, servers: Any) -> None:
        self._bootstrap_servers, self._client_id = servers, "shop-1"

    async def _wait_on_metadata(self, topic: str) -> None:
        if not topic:
            raise LookupError("no such topic")


class _AioBroker:
    """In the place of what the clients do to reach a broker.

    Args:
        run: The run.
    """

    def __init__(self, run: ProgramRun) -> None:
        self._run = run
        self._received: Any = None
        cluster = _Cluster(SERVERS[run.seed % 2])
        texts = {"_key_serializer": None, "_value_serializer": None if run.seed % 3 else str.encode}
        self._value: Any = b"{}" if run.seed % 3 else "{}"
        self.producer = a_client(AIOKafkaProducer, client=cluster, _closed=True, **texts)
        group = None if run.seed % 4 == 3 else "billing"  # noqa: PLR2004  # the last of four
        self.consumer = a_client(AIOKafkaConsumer, _client=cluster, _group_id=group, _closed=True)

    def replace(self, entered: ExitStack) -> None:
        """Replace the methods that are instrumented."""

        async def send(_client: Any, topic: Any, *_given: Any, **more: Any) -> Any:
            keep(self._run, more.get("headers"))
            if topic == "parcels" and self._run.draw.randrange(3) == 0:
                raise LookupError("the broker's")

        async def get(_client: Any, *_partitions: Any, **_more: Any) -> Any:
            return self._received

        def partition(*_given: Any) -> int:
            return self._run.draw.choice((0, 3))

        replace_methods(entered, AIOKafkaProducer, send=send, _partition=partition)
        replace_methods(entered, AIOKafkaConsumer, getone=get, getmany=get)

    async def send(self, draw: random.Random) -> None:
        """Send a message."""
        key, pairs = draw.choice(KEYS), draw.choice((None, headers(draw)))
        if draw.randrange(3) == 0:
            await self.producer.send(draw.choice(TOPICS), self._value, key, None, None, pairs)
        else:
            await self.producer.send(draw.choice(TOPICS), value=self._value, key=key, headers=pairs)

    async def receive(self, draw: random.Random) -> Any:
        """Receive a message."""
        self._received = _record(draw, draw.choice(TOPICS), draw.choice((1, None)))
        return await self.consumer.getone() is self._received

    async def receive_many(self, draw: random.Random) -> Any:
        """Receive a batch, which may be empty."""
        places = [TopicPartition(draw.choice(TOPICS), number) for number in range(draw.randrange(4))]
        self._received = {place: [_record(draw, *place) for _ in range(draw.randrange(4))] for place in places}
        return await self.consumer.getmany(timeout_ms=1) is self._received


def _record(draw: random.Random, topic: str, partition: Any) -> Any:
    sizes = {"checksum": None, "serialized_key_size": 0, "serialized_value_size": 0}
    found = tuple(headers(draw))
    return ConsumerRecord(topic, partition, 7, 0, 0, draw.choice(KEYS), b"{}", headers=found, **sizes)


def run_aiokafka(run: ProgramRun) -> None:
    """Messages of each kind."""
    telemetry, broker = run.telemetry(), _AioBroker(run)
    steps: tuple[Callable[[random.Random], Awaitable[Any]], ...] = (broker.send, broker.receive, broker.receive_many)

    def step(draw: random.Random) -> Any:
        with around(run, telemetry):
            return run_at_once(draw.choice(steps)(draw))  # type: ignore[arg-type]

    given = providers(telemetry, "tracer") | hooks(run, ("async_produce_hook", "async_consume_hook"))
    with ExitStack() as entered:
        broker.replace(entered)
        entered.enter_context(instrumented(run, telemetry, AIOKafkaInstrumentor(), **given))
        for draw in run.halves():
            for _ in range(12):
                run.attempt(step, draw)


PROGRAM: Final = run_aiokafka
