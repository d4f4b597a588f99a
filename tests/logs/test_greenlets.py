"""Log records of greenlets: each has the ids of the span of its own greenlet."""

from __future__ import annotations

import logging

import opentelemetry.instrumentation.logging.handler as handler_module
import pytest
from opentelemetry.sdk import _logs
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.trace import TracerProvider

greenlet = pytest.importorskip("greenlet")


def test_greenlets_do_not_mix_their_spans(instrumented):  # noqa: ARG001  # the fast path is in place
    """They switch in the middle of formatting a message."""
    exporter = InMemoryLogRecordExporter()
    provider = _logs.LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, schedule_delay_millis=1e7))
    logger = logging.Logger("test.greenlets")  # noqa: LOG001  # not one of the application
    logger.addHandler(handler_module.LoggingHandler(logger_provider=provider))
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    main = greenlet.getcurrent()

    class Switching:
        def __str__(self):
            main.switch()
            return "text"

    expected = []

    def work(number):
        with tracer.start_as_current_span("span") as span:
            for _ in range(3):
                expected.append((f"{number} text", span.get_span_context().span_id))
                logger.info("%d %s", number, Switching())

    workers = [greenlet.greenlet(work) for _ in range(5)]
    for number, each in enumerate(workers):
        each.switch(number)
    while not all(each.dead for each in workers):
        for each in workers:
            if not each.dead:
                each.switch()
    provider.force_flush()
    found = [(each.log_record.body, each.log_record.span_id) for each in exporter.get_finished_logs()]
    assert sorted(found) == sorted(expected)
    provider.shutdown()
