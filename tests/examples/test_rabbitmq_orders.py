"""The example of docs/rabbitmq.md prints a line for each span."""

from pathlib import Path

import pytest
from rabbitmq_servers import MissingError, RabbitMQ


def test_the_example_prints_its_spans(output_of, tmp_path):
    """Two traces through a real broker."""
    pytest.importorskip("aio_pika", reason="aio-pika is not installed")
    try:
        broker = RabbitMQ(tmp_path)
    except MissingError as error:
        pytest.skip(str(error))
    try:
        address = f"amqp://guest:guest@127.0.0.1:{broker.port}/"
        output = output_of("rabbitmq_orders", RABBITMQ=address, PYTHONWARNINGS="ignore")
    finally:
        broker.stop()
    assert f"```text\n{output}```" in Path("docs/rabbitmq.md").read_text(encoding="utf-8")
