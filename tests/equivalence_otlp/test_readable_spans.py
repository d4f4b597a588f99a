"""Whatever spans an exporter is given: stock's bytes and log, and where stock raises, the spans that it can encode."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from otlpcheck.made import SPANS, WILD_SPANS
from otlpcheck.seen import compare

from otel_fastpath.otlp import patches_spans
from otel_fastpath.patching import faults


def stock(spans):
    """What stock sends."""
    return encode_spans(spans).SerializePartialToString()


def encoder(core):
    """The encoder of this core."""
    if core == "c":
        pytest.importorskip("otel_fastpath.otlp.encoder_c")
    return patches_spans._encoder(core)


@pytest.mark.proves("otlp.http_spans", "otlp.grpc_spans")
@pytest.mark.parametrize("core", ["c", "py"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(spans=st.lists(SPANS, max_size=6))
def test_any_spans(core, spans):
    """Ours and stock's encoder cannot be told apart by what they return, raise or log."""
    check(core, spans)


@pytest.mark.slow
@pytest.mark.parametrize("core", ["c", "py"])
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(spans=st.lists(SPANS, max_size=6))
def test_many_spans(core, spans):
    """The same with more of them."""
    check(core, spans)


def check(core, spans):
    """Encode them with both."""
    before = faults.counts()
    compare(encoder(core).encode, stock, spans)
    assert faults.counts() == before


@pytest.mark.parametrize("core", ["c", "py"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(spans=st.lists(SPANS | WILD_SPANS, min_size=1, max_size=2))
def test_spans_that_stock_may_refuse(core, spans):
    """A span that stock cannot send is altered or left out; what is sent of the others is what stock sends of each."""
    check(core, spans)


@pytest.mark.parametrize("core", ["c", "py"])
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(spans=st.lists(SPANS, min_size=1, max_size=3))
def test_the_same_spans_again(core, spans):
    """What was kept from the first time does not change the second."""
    encode = encoder(core).encode
    compare(encode, stock, spans)
    compare(encode, stock, spans[:])
