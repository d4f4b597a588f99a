"""A time limit that arrives while a batch is encoded: it reaches who exports, and nothing is altered for it."""

from __future__ import annotations

import logging
import sys

import pytest
from makeitems import GOOD, LONE, batch, event, log, metric, point, span, with_exemplar
from opentelemetry.exporter.otlp.proto.common._internal.metrics_encoder import EncodingException
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext
from test_bad_items import STOCK, module, protocols

from otel_fastpath.otlp.altering import counts


class Limit(Exception):  # noqa: N818  # as in the libraries that have one
    """What an application's signal handler raises."""


def limit(*_):
    """As the interpreter calls a signal handler: with the frame that it interrupts."""

    def handler(_number, _frame):
        raise Limit

    handler(14, sys._getframe())


class Interrupted:
    """An object in whose methods a signal arrives."""

    __str__ = __hash__ = __float__ = __index__ = __len__ = limit


_LINK = Link(tuple.__new__(SpanContext, (1, Interrupted(), False, 0, None, True)))
INTERRUPTED = {
    "text": ("traces", lambda: span(Interrupted())),
    "text, after another": ("logs", lambda: log({"k": [LONE, Interrupted()]})),
    "body": ("logs", lambda: log(Interrupted())),
    "unit": ("metrics", lambda: metric(unit=Interrupted())),
    "number": ("metrics", lambda: metric(point(Interrupted()))),
    "exemplar": ("metrics", lambda: with_exemplar(Interrupted())),
    "time": ("traces", lambda: span(events=[event(timestamp=Interrupted())])),
    "link": ("traces", lambda: span(links=[_LINK])),
    "scope": ("traces", lambda: span(instrumentation_scope=InstrumentationScope(Interrupted()))),
    "scope of metrics": ("metrics", lambda: metric(scope=InstrumentationScope(Interrupted()))),
    "truth of a scope": ("logs", lambda: log(scope=Interrupted())),
    "resource": ("logs", lambda: log(resource=Resource({}, Interrupted()))),
}


@pytest.fixture
def encode(instrumented, no_faults):
    """`encode(protocol, signal, items)`, which an exporter calls."""
    assert instrumented.is_instrumented_by_opentelemetry
    counts._counts.clear()
    yield lambda protocol, signal, items: getattr(module(protocol, signal), STOCK[signal].__name__)(
        batch(signal, items)
    )
    assert no_faults.counts() == {}


@protocols
@pytest.mark.parametrize("kind", INTERRUPTED)
def test_it_is_raised(encode, protocol, kind):
    """Wherever it arrives."""
    signal, make = INTERRUPTED[kind]

    with pytest.raises(Limit):
        encode(protocol, signal, [GOOD[signal]("before"), make()])
    assert counts.counts() == {}


def test_it_is_raised_in_a_log_handler(encode):
    """Of the record that says what is altered."""
    handler, logger = logging.Handler(), logging.getLogger(counts.__name__)
    handler.emit = limit
    logger.addHandler(handler)
    try:
        with pytest.raises(Limit):
            encode("http", "traces", [span(LONE)])
    finally:
        logger.removeHandler(handler)


def test_it_is_raised_as_by_stock_in_stocks_encoder(encode, monkeypatch):
    """Where stock encodes a batch, because an application replaced one of its functions."""
    monkeypatch.setattr(sys.modules[STOCK["metrics"].__module__], "_encode_exemplars", limit)

    with pytest.raises(EncodingException) as raised:
        encode("http", "metrics", [metric()])
    assert type(raised.value.original_exception) is Limit
