"""Faults of ours after an operation took effect: it is not done again, and the host is not told."""

from __future__ import annotations

import logging

import pytest


class _Broken:
    def is_set(self):
        raise RuntimeError("no")


@pytest.mark.usefixtures("no_faults")
def test_a_span_is_queued_once(exporting, caplog):
    """Where the exporter's thread cannot be woken, the span is in the queue, once."""
    caplog.set_level(logging.CRITICAL)
    with exporting() as (provider, got):
        [processor] = provider._active_span_processor._span_processors
        batch = processor._batch_processor
        tracer = provider.get_tracer("once")
        tracer.start_span("before").end()
        woken, most = batch._worker_awaken, batch._max_export_batch_size
        batch._worker_awaken = _Broken()
        batch._max_export_batch_size = 1
        hot = tracer._otel_fastpath_plan.first_batch
        hot.max_batch, hot.room = 1, 0
        tracer.start_span("after").end()
        batch._worker_awaken, batch._max_export_batch_size = woken, most
        provider.force_flush()
        assert [span.name for span in got] == ["before", "after"]
