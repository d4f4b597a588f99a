"""Requests of ASGI applications for tests: fixed ones, and random ones with random answers."""

from __future__ import annotations

import asyncio
import copy

from hypothesis import strategies as st
from opentelemetry import context
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

HOST = (b"host", b"localhost:8000")
REMOTE = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
UNSAMPLED = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2"), (b"x-kind", b"a")]}
BODY = {"type": "http.response.body", "body": b"ok"}


def scope(**further):
    """A request."""
    return {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "http_version": "1.1",
        "path": "/items/3",
        "query_string": b"",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
        "headers": [HOST, (b"user-agent", b"curl/8")],
        **further,
    }


def application(messages, raised=None):
    """An application that receives one message, sends these and then raises this."""

    async def run(_scope, receive, send):
        await receive()
        for message in messages:
            await send(copy.deepcopy(message))
        if raised is not None:
            raise raised

    return run


async def receive_empty():
    """Receive a request without a body."""
    return {"type": "http.request", "body": b""}


async def send_nowhere(_message):
    """Send a message to nobody."""


def with_one_wrong(wrong):
    """An application that receives and sends this between other messages, `receive`, `send`, and what came through."""
    received, sent = [], []

    async def run(_scope, receive, send):
        received.append(await receive())
        for message in (START, wrong, BODY):
            await send(copy.copy(message))

    async def receive():
        return wrong

    async def send(message):
        sent.append(message)

    return run, receive, send, received, sent


def serve(recorded, requests, messages=(START, BODY), raised=None, keywords=None, sampler=None, app=None):
    """Serve these requests with one middleware; return what was recorded and what the application's host saw."""
    made = recorded(sampler)
    middleware = OpenTelemetryMiddleware(app or application(messages, raised), **made.providers, **(keywords or {}))
    seen = []

    async def every():
        for request in requests:
            try:
                await middleware(request, receive_empty, send_nowhere)
                seen.append("served")
            except BaseException as error:
                seen.append(repr(error))
            seen.append(dict(context.get_current()))

    asyncio.run(every())
    return made.spans(), made.metrics(), seen


text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
header_names = st.sampled_from([b"host", b"Host", b"user-agent", b"content-length", b"x-a", b"traceparent", b"baggage"])
header_values = st.sampled_from(
    [b"localhost", b"example.org:80", b"curl/8", b"Googlebot/2.1", b"12", b"-", b"", b"\xc3\xa9", b"a=b", REMOTE[1]]
)
requests = st.builds(
    scope,
    type=st.sampled_from(["http", "http", "http", "websocket"]),
    method=st.sampled_from(["GET", "POST", "get", "PURGE", "", "QUERY"]),
    scheme=st.sampled_from(["http", "https", ""]),
    http_version=st.sampled_from(["1.1", "2", ""]),
    path=text.map("/".__add__) | st.just("") | st.just(" /x "),
    query_string=st.sampled_from([b"", b"a=1", b"sig=x", b"a=%20&Signature=1", b"b=%C3%A9"]),
    server=st.sampled_from([("127.0.0.1", 8000), ("127.0.0.1", 80), ["h", 1], None, ("/run/app.sock", None)]),
    client=st.sampled_from([("127.0.0.1", 5000), ["::1", 1], None, ("", 0), ("host", None)]),
    headers=st.lists(st.tuples(header_names, header_values), max_size=5),
)
answers = st.lists(
    st.sampled_from(
        [
            START,
            {**START, "status": 404},
            {**START, "status": 503, "headers": []},
            {**START, "status": "200"},
            {**START, "status": 99},
            {"type": "http.response.start", "status": 200, "headers": [], "trailers": True},
            {**BODY, "more_body": True},
            BODY,
            {"type": "http.response.trailers", "headers": []},
            {"type": "websocket.accept"},
            {"type": "websocket.send", "text": "a"},
        ]
    ),
    max_size=4,
)
