"""Messages of confluent-kafka that go through a real broker: what is received is linked to what sent it."""

# ruff: noqa: F811  # the fixture of the module that has the broker

from __future__ import annotations

import contextlib
import contextvars
import itertools

import confluent_kafka
import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.confluent_kafka import AutoInstrumentedConsumer, ConfluentKafkaInstrumentor
from opentelemetry.instrumentation.utils import unwrap
from stock_in_place import stock_in_place

from otel_fastpath.messaging.confluent_kafka.patches import PATCHES as CONFLUENT_PATCHES

from .conftest import Telemetry
from .test_real_broker import address  # noqa: F401  # a fixture

PLACES = {patch.name: patch.target for patch in CONFLUENT_PATCHES}
TOPICS = (f"confluent-{number}" for number in itertools.count())


def go_through(address, topic):
    """Send three messages, receive one, and then two in a batch."""
    tracer = trace.get_tracer("application")
    producer = confluent_kafka.Producer({"bootstrap.servers": address})
    for number in range(3):
        with tracer.start_as_current_span(f"request {number}"):
            producer.produce(topic, b"%d" % number, headers=[("x-tenant", b"shop")])
    producer.flush(20)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    found = [consumer.poll(20)]
    with tracer.start_as_current_span("work"):
        pass
    found += consumer.consume(2, 20)
    with tracer.start_as_current_span("work at both"):
        pass
    consumer.close()
    return [(each.value(), [name for name, _ in each.headers()]) for each in found]


def run(address, monkeypatch, *, is_stock):
    """What is received, and the spans, without the names of topics."""
    telemetry, topic = Telemetry(is_batched=True), next(TOPICS)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", telemetry.tracers)
    with stock_in_place(PLACES.values()) if is_stock else contextlib.nullcontext():
        ConfluentKafkaInstrumentor().instrument(tracer_provider=telemetry.tracers, skip_dep_check=True)
        try:
            found = contextvars.Context().run(go_through, address, topic)
        finally:
            ConfluentKafkaInstrumentor().uninstrument()
            # Stock leaves these wrapped.
            for name in ("consume", "close"):
                unwrap(AutoInstrumentedConsumer, name)
    return found, telemetry.seen(), str(telemetry.seen()).replace(topic, "orders"), topic


@pytest.mark.proves("confluent_kafka.produce", "confluent_kafka.poll", "confluent_kafka.consume")
def test_one_trace(instrumented, no_faults, address, monkeypatch):
    """What is received is linked to the spans that sent it."""
    states = {row.name: row.state.value for row in instrumented.status() if row.name in PLACES}
    assert set(states.values()) == {"applied"}
    found, spans, shown, topic = run(address, monkeypatch, is_stock=False)
    assert found == [(b"%d" % number, ["x-tenant", "traceparent"]) for number in range(3)]
    sent = [number for number, span in enumerate(spans) if span[0] == f"{topic} send"]
    processed = [span[-3] for span in spans if span[0] == f"{topic} process"]
    assert processed == [sent[:1], sent[1:]]
    as_stock = run(address, monkeypatch, is_stock=True)
    assert (found, shown) == (as_stock[0], as_stock[2])
    assert no_faults.counts() == {}
