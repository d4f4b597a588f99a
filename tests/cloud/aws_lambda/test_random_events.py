"""Random events of Lambda's handlers leave the same telemetry with stock's functions and with this package's."""

# ruff: noqa: ARG001  # the fixture `ours` puts the functions in their places

from __future__ import annotations

import contextvars
import logging
from contextlib import contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, context, propagate, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.aws import AwsXRayPropagator
from opentelemetry.propagators.b3 import B3MultiFormat
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, DEFAULT_ON
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from .conftest import CONTEXT, PARENT, Telemetry, stock_functions


class Headers(dict):
    """Somebody's own."""


XRAY = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
VALUES = st.sampled_from(
    [PARENT, PARENT.upper(), "00-0", "", "a=1", "user=ann", "text", XRAY, None, 5, [PARENT], ["a=1"]]
)
NAMES = st.sampled_from(
    [
        *("traceparent", "Traceparent", "TRACEPARENT", "tracestate", "Tracestate", "baggage", "Baggage", "b3"),
        *("user-agent", "User-Agent", "USER-AGENT", "x-forwarded-proto", "X-Forwarded-Proto", "Host", "host"),
        *("X-Amzn-Trace-Id", "x-b3-traceid", "X-B3-SpanId", "x-other-one", "\u212a", "\u0130racepar", 7, None),
    ]
)
HEADERS = st.one_of(
    st.dictionaries(NAMES, VALUES, max_size=6),
    st.dictionaries(NAMES, VALUES, max_size=3).map(Headers),
    st.sampled_from([None, [], "text", 5]),
)
SEVERAL = st.one_of(
    st.dictionaries(NAMES, st.lists(VALUES, max_size=2), max_size=3), st.sampled_from([None, {"a": "b"}, []])
)
QUERIES = st.one_of(
    st.dictionaries(
        st.sampled_from(["a", "\u00e4", "a b", "a-b.c_d~", "", "&"]),
        st.sampled_from(["1", "", "x y", "\u00e4", "a/b", "-._~", "\n", None, 5, ["1", "2"]]),
        max_size=3,
    ),
    st.sampled_from([None, "", "a=b", [("a", "b")], 5]),
)
CONTEXTS = st.sampled_from(
    [
        {"stage": "prod"},
        {"domainName": "shop", "http": {"method": "GET", "path": "/a", "userAgent": "x"}},
        {"http": {}},
        {},
        None,
        "text",
    ]
)
ATTRIBUTES = st.one_of(
    st.dictionaries(
        NAMES,
        st.one_of(
            st.fixed_dictionaries({"stringValue": VALUES, "StringValue": VALUES}),
            st.sampled_from([{}, None, "text", 5]),
        ),
        max_size=4,
    ),
    st.sampled_from([None, {}, [], "text", ["x"]]),
)
RECORDS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"eventSource": st.sampled_from(["aws:sqs", "AWS:SQS ", "aws:sqs", "aws:s3", ""])},
            optional={
                "messageAttributes": ATTRIBUTES,
                "messageId": st.sampled_from(["m", "", None, 5]),
                "eventSourceARN": st.sampled_from(["arn:aws:sqs:eu-west-1:1:orders", "orders", ""]),
            },
        ),
        st.sampled_from([None, "text"]),
    ),
    max_size=3,
)
EVENTS = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={
            "headers": HEADERS,
            "multiValueHeaders": SEVERAL,
            "requestContext": CONTEXTS,
            "httpMethod": st.sampled_from(["GET", None, 5]),
            "resource": st.sampled_from(["/orders/{id}", "", None]),
            "queryStringParameters": QUERIES,
            "rawQueryString": st.sampled_from(["a=b", ""]),
            "version": st.sampled_from(["1.0", "2.0", 2]),
        },
    ),
    st.fixed_dictionaries({"Records": RECORDS}, optional={"headers": HEADERS}),
    st.sampled_from([None, [], "text", 5, Headers(headers={"traceparent": PARENT})]),
)
PROPAGATORS = {
    "usual": lambda: CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()]),
    "one": TraceContextTextMapPropagator,
    "layer": lambda: CompositePropagator(
        [TraceContextTextMapPropagator(), W3CBaggagePropagator(), B3MultiFormat(), AwsXRayPropagator()]
    ),
}
SETTINGS = st.fixed_dictionaries(
    {
        "sampler": st.sampled_from([DEFAULT_ON, DEFAULT_ON, ALWAYS_OFF]),
        "propagator": st.sampled_from(["usual", "usual", *PROPAGATORS]),
        "extractor": st.sampled_from(["default", "default", "none", "own"]),
    }
)
OUTCOMES = st.sampled_from([{"statusCode": 200}, {"statusCode": "x"}, {}, None, LookupError("the function's")])


@contextmanager
def logged(into):
    """What stock logs meanwhile."""

    class Handler(logging.Handler):
        def emit(self, record):
            into.append((record.name, record.levelname, record.getMessage()[:100]))

    handler, logger = Handler(), logging.getLogger("opentelemetry.instrumentation")
    logger.addHandler(handler)
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        logger.setLevel(level)


def happens(chosen, program):
    """What happens when these events come in turn, and these are the outcomes."""
    telemetry, happened, outcomes = Telemetry(sampler=chosen["sampler"]), [], iter([each for _, each in program])

    def function(event, given_context):
        current = trace.get_current_span().get_span_context()
        happened.append((repr(event), given_context is CONTEXT, current.is_valid, baggage.get_all()))
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    extractors = {"none": None, "own": lambda _event: context.Context({"own": "value"})}
    more = {"event_context_extractor": extractors[chosen["extractor"]]} if chosen["extractor"] in extractors else {}
    before = propagate.get_global_textmap()
    propagate.set_global_textmap(PROPAGATORS[chosen["propagator"]]())
    try:
        with telemetry.handler(function, **more) as handler, logged(happened):
            for event, _ in program:
                try:
                    happened.append(handler(event, CONTEXT))
                except Exception as error:  # any exception is a result to compare
                    happened.append((type(error), str(error)))
                happened.append((repr(context.get_current()), len(telemetry.spans.get_finished_spans())))
    finally:
        propagate.set_global_textmap(before)
    return happened, telemetry.seen()


@pytest.mark.proves("aws_lambda.*")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(chosen=SETTINGS, program=st.lists(st.tuples(EVENTS, OUTCOMES), min_size=1, max_size=4))
def test_random_events(ours, chosen, program):
    """Spans, links, results, exceptions, log records and contexts are the same, and each call flushes."""
    # Where an event is odd, stock leaves its context attached.
    left = contextvars.Context().run(happens, chosen, program)
    with stock_functions():
        right = contextvars.Context().run(happens, chosen, program)
    assert left == right
