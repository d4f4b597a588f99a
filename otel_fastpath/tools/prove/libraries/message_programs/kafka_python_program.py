"""Messages that kafka-python sends and receives."""

from __future__ import annotations

from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from kafka import KafkaConsumer, KafkaProducer
from opentelemetry.instrumentation.kafka import KafkaInstrumentor

from otel_fastpath.tools.prove.libraries.message_programs.kafka_messages import (
    KEYS,
    SERVERS,
    TOPICS,
    a_client,
    headers,
    keep,
    replace_methods,
)
from otel_fastpath.tools.prove.libraries.modes import around, hooks, instrumented, providers

if TYPE_CHECKING:
    import random

    from otel_fastpath.tools.prove.program import ProgramRun

_PLACES: Final[tuple[Any, ...]] = (("orders", 1), ("orders", 1), ("orders", None), ("orders",), None)


class _KafkaBroker:
    """In the place of what the clients do to reach a broker.

    Args:
        run: The run.
    """

    def __init__(self, run: ProgramRun) -> None:
        self._run = run
        self._received: Any = None
        given = {"config": {"bootstrap_servers": SERVERS[run.seed % 2]}, "_closed": True}
        self.producer, self.consumer = a_client(KafkaProducer, **given), a_client(KafkaConsumer, **given)

    def replace(self, entered: ExitStack) -> None:
        """Replace the methods that are instrumented."""

        def send(_client: Any, topic: Any, *_given: Any, **more: Any) -> Any:
            keep(self._run, more.get("headers"))
            if topic == "parcels" and self._run.draw.randrange(3) == 0:
                raise LookupError("the broker's")
            return SimpleNamespace(_produce_future=SimpleNamespace(topic_partition=self._run.draw.choice(_PLACES)))

        def receive(_client: Any) -> Any:
            return self._received

        replace_methods(entered, KafkaProducer, send=send)
        replace_methods(entered, KafkaConsumer, __next__=receive)

    def send(self, draw: random.Random) -> None:
        """Send a message."""
        more = {"key": draw.choice(KEYS)} | ({"headers": headers(draw)} if draw.randrange(2) else {})
        if draw.randrange(4) == 0:
            self.producer.send(topic=draw.choice(TOPICS), value=b"{}", **more)
        else:
            self.producer.send(draw.choice(TOPICS), b"{}", **more)

    def receive(self, draw: random.Random) -> Any:
        """Receive a message."""
        found = headers(draw) if draw.randrange(4) else None
        received = {"topic": draw.choice(TOPICS), "partition": draw.choice((1, None)), "headers": found}
        self._received = draw.choice((SimpleNamespace(**received), SimpleNamespace(**received), None))
        return next(self.consumer) is self._received


def run_kafka_python(run: ProgramRun) -> None:
    """Messages of both kinds."""
    telemetry, broker = run.telemetry(), _KafkaBroker(run)

    def step(draw: random.Random) -> Any:
        with around(run, telemetry):
            return draw.choice((broker.send, broker.receive))(draw)

    given = providers(telemetry, "tracer") | hooks(run, ("produce_hook", "consume_hook"), may_fail=True)
    with ExitStack() as entered:
        broker.replace(entered)
        entered.enter_context(instrumented(run, telemetry, KafkaInstrumentor(), **given))
        for draw in run.halves():
            for _ in range(12):
                run.attempt(step, draw)


PROGRAM: Final = run_kafka_python
