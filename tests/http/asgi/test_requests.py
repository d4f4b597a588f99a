"""Requests of ASGI applications: the same spans and metrics as with stock's own code."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from asgicheck import (
    BODY,
    HOST,
    REMOTE,
    START,
    UNSAMPLED,
    answers,
    application,
    receive_empty,
    requests,
    scope,
    send_nowhere,
    serve,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from newer_releases import older
from opentelemetry import trace
from opentelemetry.instrumentation import propagators
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.utils import suppress_http_instrumentation
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

RANDOM = given(
    sent=st.lists(requests, min_size=1, max_size=3),
    messages=answers,
    raised=st.sampled_from([None, ValueError("no"), KeyboardInterrupt()]),
    excluded=st.sampled_from([None, "items", "localhost/.*"]),
    kinds=st.sampled_from([None, ["send"], ["receive"], ["send", "receive"]]),
)


@pytest.mark.proves("asgi.request")
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@RANDOM
def test_random_requests(both_ways, recorded, conventions, sent, messages, raised, excluded, kinds):
    """Methods, targets, headers, messages, exceptions, in each of the conventions."""
    check(both_ways, recorded, conventions, sent, messages, raised, {"excluded_urls": excluded, "exclude_spans": kinds})


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@RANDOM
def test_many_random_requests(both_ways, recorded, conventions, sent, messages, raised, excluded, kinds):
    """The same with more of them."""
    check(both_ways, recorded, conventions, sent, messages, raised, {"excluded_urls": excluded, "exclude_spans": kinds})


def check(both_ways, recorded, conventions, sent, messages, raised, keywords):
    """Serve the requests both ways."""
    # Without a length in each answer, stock records that of an earlier one.
    messages = [message if message["type"] != "http.response.start" else {**START, **message} for message in messages]

    stock, ours = both_ways(serve, recorded, [dict(each) for each in sent], messages, raised, keywords)

    if "http" in conventions:
        # Stock shows the values of `url.query` that it redacts in `http.url`.
        stock = redacted(stock)
    assert ours[2] == stock[2]
    assert ours[0] == stock[0]
    if any(message["type"] == "http.response.start" and message["headers"] for message in messages):
        assert ours[1] == stock[1]


def redacted(found):
    """What stock records, with the secret values of `url.query` redacted."""
    spans = [
        (
            *span[:2],
            [(key, _hidden(value) if key == "url.query" else value) for key, value in span[2]],
            *span[3:],
        )
        for span in found[0]
    ]
    return spans, *found[1:]


def _hidden(query):
    return {"sig=x": "sig=REDACTED", "a=%20&Signature=1": "a=+&Signature=REDACTED"}.get(query, query)


class Hooks:
    """The three hooks; each sets an attribute, and raises if asked to."""

    def __init__(self, raises):
        self.calls = []
        self.raises = raises

    def __call__(self, span, *args):
        """Be called by the instrumentation."""
        self.calls.append(type(args[-1]).__name__)
        span.set_attribute("hook", len(args))
        span.set_attribute("current", trace.get_current_span() is span)
        if self.raises:
            raise ValueError("hook")


@pytest.mark.parametrize(
    ("headers", "is_excluded"),
    [
        ([(b"hops", b"b.test"), (b"host", b"a.test")], True),
        ([(b"HOST", b"a.test")], True),
        # Only its value is decoded.
        ([(b"host", b"a.test"), (b"user-agent", None)], True),
        ([(b"host", b"a.test"), (b"host", b"b.test")], True),
        ([(b"host", b"b.test"), (b"host", b"a.test")], False),
        ([(b"host", b"")], False),
        ([], False),
    ],
)
def test_the_host_of_an_excluded_url(both_ways, recorded, headers, is_excluded):
    """It is that of the first such header."""
    keywords = {"excluded_urls": "^http://a.test/"}

    stock, ours = both_ways(serve, recorded, [scope(headers=headers)], (START, BODY), None, keywords)

    assert ours == stock
    assert (ours[0] == []) is is_excluded


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("headers", [[HOST], [HOST, REMOTE], [HOST, UNSAMPLED]])
def test_hooks_and_captured_headers(both_ways, recorded, conventions, raises, headers):
    """Hooks are called as stock calls them, also for unsampled requests; headers are captured and sanitized."""
    del conventions

    def run():
        hooks = Hooks(raises)
        keywords = {
            "server_request_hook": hooks,
            "client_request_hook": hooks,
            "client_response_hook": hooks,
            "http_capture_headers_server_request": ["x-.*", "host"],
            "http_capture_headers_server_response": ["x-kind"],
            "http_capture_headers_sanitize_fields": ["x-secret"],
        }
        request = scope(headers=[*headers, (b"x-secret", b"1"), (b"x-plain", b"2"), (b"x-plain", b"3")])
        return serve(recorded, [request], keywords=keywords), hooks.calls

    stock, ours = both_ways(run)

    assert ours == stock
    assert len(ours[1]) == 4


@pytest.mark.parametrize("sampled", [True, False])
def test_parents(both_ways, recorded, sampled):
    """Under a current span, the request is internal and its headers are not read; the context is restored."""

    def run():
        made = recorded(None if sampled else ALWAYS_OFF)
        middleware = OpenTelemetryMiddleware(application((START, BODY)), **made.providers)

        async def inside():
            with made.tracers.get_tracer("tests").start_as_current_span("outer") as outer:
                await middleware(scope(headers=[HOST, REMOTE]), receive_empty, send_nowhere)
                return trace.get_current_span() is outer

        return asyncio.run(inside()), made.spans(), made.metrics()

    stock, ours = both_ways(run)

    assert ours == stock
    assert ours[0]


def test_suppressed(both_ways, recorded):
    """Nothing is emitted while HTTP instrumentation is suppressed; 0.61b0 does not ask."""

    def run():
        with suppress_http_instrumentation():
            return serve(recorded, [scope()])

    stock, ours = both_ways(run)

    assert ours == stock
    assert bool(ours[0]) == older("opentelemetry-instrumentation-asgi", "0.62b0")


def test_cancelled(both_ways, recorded):
    """A cancelled request ends its spans and records its metrics."""

    async def forever(_scope, _receive, send):
        await send(dict(START))
        await asyncio.sleep(60)

    def run():
        made = recorded()
        middleware = OpenTelemetryMiddleware(forever, **made.providers)

        async def cancel():
            task = asyncio.ensure_future(middleware(scope(), receive_empty, send_nowhere))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(cancel())
        return made.spans(), made.metrics()

    stock, ours = both_ways(run)

    assert ours == stock
    assert len(ours[0]) == 2


def test_a_response_propagator(both_ways, recorded):
    """Its header is in the message that is sent."""

    def run():
        sent = []

        async def send(message):
            sent.append([name for name, _ in message.get("headers", ())])

        made = recorded()
        middleware = OpenTelemetryMiddleware(application((START, BODY)), **made.providers)
        propagators.set_global_response_propagator(propagators.TraceResponsePropagator())
        try:
            asyncio.run(middleware(scope(), receive_empty, send))
        finally:
            propagators.set_global_response_propagator(None)
        return sent

    stock, ours = both_ways(run)

    assert ours == stock
    assert b"traceresponse" in ours[0]


@pytest.mark.parametrize("headers", [[], [HOST], [HOST, REMOTE]])
def test_without_an_sdk(both_ways, headers):
    """The remote parent is the current span inside of the application, and nothing else is."""

    def run():
        seen = []

        async def app(_scope, _receive, _send):
            seen.append(trace.get_current_span().get_span_context())

        asyncio.run(OpenTelemetryMiddleware(app)(scope(headers=headers), receive_empty, send_nowhere))
        return [*seen, trace.get_current_span()]

    stock, ours = both_ways(run)

    assert ours == stock


@pytest.mark.parametrize(
    "header", [(b"user-agent", b"\xff\\x"), (b"host", b"\xff\\x"), (b"content-length", b"\xff\\x")]
)
def test_a_header_that_cannot_be_decoded(instrumented, recorded, header):
    """The request is served and recorded; stock raises an error, which servers answer with 500."""
    del instrumented
    spans, _, seen = serve(recorded, [scope(headers=[header])])

    assert seen[0] == "served"
    assert spans[-1][0] == "GET /items/3"


def test_a_captured_header_that_cannot_be_decoded(instrumented, recorded):
    """Likewise; nothing is captured of this request."""
    del instrumented
    keywords = {"http_capture_headers_server_request": ["x-.*"]}
    spans, _, seen = serve(recorded, [scope(headers=[HOST, (b"x-a", b"\xff\\x")])], keywords=keywords)

    assert seen[0] == "served"
    assert spans[-1][0] == "GET /items/3"


@pytest.mark.parametrize("further", [{}, {"own": 1}, {"http.route": "/r"}, {"http.scheme": "own", "http.method": "M"}])
def test_own_details_of_spans(both_ways, recorded, conventions, further):
    """Attributes that an own `default_span_details` sets are in the metrics, too, where they are theirs."""
    del conventions
    keywords = {"default_span_details": lambda given: (given["path"], further)}

    stock, ours = both_ways(serve, recorded, [scope(), scope(path="/b")], (START, BODY), None, keywords)

    assert ours == stock


def test_a_query_that_is_not_utf_8(instrumented, recorded):
    """Likewise."""
    del instrumented
    spans, _, seen = serve(recorded, [scope(query_string=b"q=\xff")])

    assert seen[0] == "served"
    assert dict(spans[-1][2])["http.url"] == "http://localhost:8000/items/3?q=\ufffd"


def test_sizes_under_concurrency(instrumented, recorded):
    """Each response has its own size; stock records that of the last response with a length."""
    del instrumented
    answers = [(START, BODY), ({**START, "headers": []}, BODY)]
    remaining = iter(answers)

    async def app(given, receive, send):
        await application(next(remaining))(given, receive, send)

    _, metrics, _ = serve(recorded, [scope(), scope()], app=app)

    (sizes,) = [point for point in metrics if point[1] == "http.server.response.size"]
    assert sizes[5:7] == (1, 2)


def test_strangers_fill_no_memory(instrumented, recorded):
    """The kinds of requests that a middleware keeps are bounded, in number and in length."""
    del instrumented
    made = recorded(ALWAYS_OFF)
    middleware = OpenTelemetryMiddleware(application((START, BODY)))
    middleware.tracer = made.tracers.get_tracer("tests")

    async def strangers():
        for number in range(1000):
            host = b"h%d" % number * (1 if number % 2 else 1000)
            agent = b"agent %d" % number
            await middleware(scope(headers=[(b"host", host), (b"user-agent", agent)]), receive_empty, send_nowhere)

    asyncio.run(strangers())
    served = vars(middleware)["_otel_fastpath"]

    assert 0 < served.kept() <= 2 * 128


def test_overridden_methods_are_called(instrumented, recorded):
    """A subclass that has its own way of making spans keeps it."""
    del instrumented

    class Own(OpenTelemetryMiddleware):
        def _get_otel_receive(self, server_span_name, scope, receive):  # noqa: ARG002  # stock's signature
            return receive

    made = recorded()
    asyncio.run(Own(application((START, BODY)), **made.providers)(scope(), receive_empty, send_nowhere))

    assert [span[0] for span in made.spans()] == ["GET /items/3 http send", "GET /items/3 http send", "GET /items/3"]
