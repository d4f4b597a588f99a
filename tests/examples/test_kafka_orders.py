"""The example of docs/kafka.md prints a line for each span."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "messaging" / "kafka"))

from real_broker import Kafka, MissingError


def test_the_example_prints_its_spans(output_of, tmp_path):
    """Two traces through a real broker, and those of a batch."""
    pytest.importorskip("aiokafka", reason="aiokafka is not installed")
    try:
        kafka = Kafka(tmp_path)
    except MissingError as error:
        pytest.skip(str(error))
    try:
        output = output_of("kafka_orders", KAFKA=kafka.address, PYTHONWARNINGS="ignore")
    finally:
        kafka.stop()
    assert f"```text\n{output}```" in Path("docs/kafka.md").read_text(encoding="utf-8")
