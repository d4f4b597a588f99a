"""Faults of ours after an operation took effect: it is not done again, and the host is not told."""

from __future__ import annotations

import logging

import pytest
from newer_releases import needs
from opentelemetry.sdk.trace import SpanLimits, TracerProvider


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
        (hot,) = tracer._otel_fastpath_plan.on_end
        hot.max_batch = 1
        tracer.start_span("after").end()
        batch._worker_awaken, batch._max_export_batch_size = woken, most
        provider.force_flush()
        assert [span.name for span in got] == ["before", "after"]


@needs("opentelemetry-sdk", "1.45", "the first that warns of this, and that keeps an attribute without a value")
def test_a_value_that_is_shortened_warns_once(instrumented, caplog):
    """Also if it replaces the only attribute of a span that may have no other."""
    del instrumented
    limits = SpanLimits(max_span_attributes=1, max_span_attribute_length=1)
    span = TracerProvider(span_limits=limits).get_tracer("tests").start_span("limited")
    span.set_attribute("a", None)
    span.set_attribute("a", "long")
    span.set_attribute("a", "longer")

    assert dict(span.attributes) == {"a": "l"}
    assert len([record for record in caplog.records if "exceeds max length" in record.getMessage()]) == 2
