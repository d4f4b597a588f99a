"""The spans of a request's messages: when they are made, and who takes part."""

from __future__ import annotations

import asyncio

import pytest
from asgicheck import BODY, START, application, receive_empty, scope, send_nowhere, serve, with_one_wrong
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.sdk.trace import Span, SpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF


@pytest.mark.parametrize("conventions", ["", "http"], indirect=True)
@pytest.mark.parametrize("status", [200, 503, "200", "x"])
def test_a_request_that_is_not_sampled(both_ways, recorded, conventions, status):  # noqa: ARG001  # the conventions are set
    """Its messages have no spans, but for those under a sampled span; its metrics are as stock's."""
    sampled = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1)))

    async def run(_scope, receive, send):
        await receive()
        await send({**START, "status": status})
        with trace.use_span(sampled):
            await receive()
            await send({**BODY, "more_body": True})
        await send(BODY)

    stock, ours = both_ways(serve, recorded, [scope(), scope()], (), None, None, ALWAYS_OFF, run)

    assert ours == stock
    assert len(ours[0]) == 2 * 2


def test_hooks_of_a_request_that_is_not_sampled(both_ways, recorded):
    """They are called with each message, and a span of theirs has the request's name as it was before them."""

    def run_with(recorded):
        seen = []

        def change(_span, request):
            request["path"] = "/changed"

        def see(span, _scope, message):
            seen.append((span.is_recording(), message["type"]))

        keywords = {"server_request_hook": change, "client_request_hook": see, "client_response_hook": see}
        return *serve(recorded, [scope()], keywords=keywords, sampler=ALWAYS_OFF), seen

    stock, ours = both_ways(run_with, recorded)

    assert ours == stock
    assert len(ours[3]) == 3


@pytest.mark.parametrize("method", ["end", "is_recording"])
def test_a_method_of_spans_that_other_code_replaces(instrumented, recorded, monkeypatch, method):  # noqa: ARG001  # the fast path is on
    """It is called for the spans of messages, too."""
    names = []
    ours = getattr(Span, method)

    def wrapped(self, *args):
        names.append(self.name)
        return ours(self, *args)

    monkeypatch.setattr(Span, method, wrapped)
    spans, _, _ = serve(recorded, [scope()])

    assert {span[0] for span in spans} - {"GET /items/3 http receive"} <= set(names)


def test_a_processor_sees_the_spans_of_messages_begin(both_ways, recorded):
    """Before they end, so that it can change them."""

    class Marks(SpanProcessor):
        """Changes each name."""

        def on_start(self, span, parent_context=None):  # noqa: ARG002  # the interface
            """Change its name."""
            span.update_name(f"{span.name}, {span.is_recording()}")

    def run(recorded):
        made = recorded()
        made.tracers.add_span_processor(Marks())
        middleware = OpenTelemetryMiddleware(application([START, BODY]), **made.providers)
        asyncio.run(middleware(scope(), receive_empty, send_nowhere))
        return made.spans()

    stock, ours = both_ways(run, recorded)

    assert ours == stock
    assert all(span[0].endswith(", True") for span in ours)


@pytest.mark.parametrize("kinds", [None, ["send", "receive"]])
@pytest.mark.parametrize("wrong", [{"body": b"x"}, {}, None, "body", 7])
def test_a_message_without_a_type(instrumented, recorded, no_faults, wrong, kinds):
    """It is for the application and the server to tell each other: it is passed on as it is, and no fault of ours."""
    del instrumented
    app, receive, send, received, sent = with_one_wrong(wrong)
    made = recorded()
    middleware = OpenTelemetryMiddleware(app, exclude_spans=kinds, **made.providers)
    asyncio.run(middleware(scope(), receive, send))

    assert (received, sent) == ([wrong], [START, wrong, BODY])
    kinds_of = [dict(span[2]).get("asgi.event.type") for span in made.spans()]
    assert kinds_of == ([None] if kinds else [None, START["type"], BODY["type"], None])
    assert dict(made.spans()[-1][2])["http.status_code"] == START["status"]
    assert no_faults.counts() == {}


def test_a_response_without_a_status(instrumented, recorded, no_faults):
    """Likewise; there is none on the span."""
    del instrumented
    sent = []

    async def send(message):
        sent.append(message)

    made = recorded()
    without = {"type": START["type"], "headers": START["headers"]}
    middleware = OpenTelemetryMiddleware(application([without, BODY]), **made.providers)
    asyncio.run(middleware(scope(), receive_empty, send))

    assert sent == [without, BODY]
    assert [dict(span[2]).get("asgi.event.type") for span in made.spans()] == [
        "http.request",
        START["type"],
        BODY["type"],
        None,
    ]
    assert "http.status_code" not in dict(made.spans()[-1][2])
    assert no_faults.counts() == {}


@pytest.mark.usefixtures("instrumented")
def test_what_a_processor_changes_at_the_start_of_a_request(recorded):
    """Difference: it stays; stock sets all attributes once more, over what the processor has set."""

    class Hides(SpanProcessor):
        """Hides the URL."""

        def on_start(self, span, parent_context=None):  # noqa: ARG002  # the interface
            """Hide it."""
            if "http.url" in span.attributes:
                span.set_attribute("http.url", "hidden")

    made = recorded()
    made.tracers.add_span_processor(Hides())
    middleware = OpenTelemetryMiddleware(application([START, BODY]), **made.providers)
    asyncio.run(middleware(scope(), receive_empty, send_nowhere))

    assert dict(made.spans()[-1][2])["http.url"] == "hidden"
