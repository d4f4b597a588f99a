"""What FastAPI's own telemetry emits, alone and beside the stock instrumentation, is the same with this package."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, WebSocket
from fastapi.responses import StreamingResponse
from opentelemetry import context
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.trace import SpanKind

pytest.importorskip("fastapi.telemetry", reason="FastAPI has telemetry of its own from 0.142 on")

REMOTE = (b"traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
HOST = (b"host", b"localhost:8000")


class Logs:
    """Keeps the log records: what they say, and in which trace."""

    def __init__(self):
        self.found = []

    def on_emit(self, data):
        """Keep one."""
        record = data.log_record
        attributes = {key: value for key, value in record.attributes.items() if key != "exception.stacktrace"}
        self.found.append((record.event_name, record.body, attributes, bool(record.span_id)))

    def shutdown(self):
        """Nothing."""

    def force_flush(self, timeout_millis=0):
        """Nothing."""
        del timeout_millis


def application(telemetry, **keywords):
    """An application with routes of every kind."""
    app = FastAPI(telemetry=telemetry, **keywords)

    async def dependency():
        return 7

    @app.get("/items/{item_id}")
    async def read(item_id: int, tasks: BackgroundTasks, other: int = Depends(dependency)):  # noqa: FAST002  # local
        tasks.add_task(print, end="")
        return {"item_id": item_id, "other": other}

    @app.get("/boom")
    async def boom():
        raise ValueError("in the endpoint")

    @app.get("/refused")
    async def refused():
        raise HTTPException(503)

    @app.get("/stream")
    async def stream():
        async def chunks():
            yield b"a"
            yield b"b"

        return StreamingResponse(chunks())

    @app.websocket("/ws")
    async def socket(websocket: WebSocket):
        await websocket.accept()
        await websocket.send_text(await websocket.receive_text())
        await websocket.close()

    inner = FastAPI()
    inner.get("/deep")(dependency)
    app.mount("/sub", inner)
    return app


def scope(path, method="GET", **further):
    """A request."""
    return {
        "type": "http",
        "method": method,
        "scheme": "http",
        "http_version": "1.1",
        "path": path,
        "root_path": "",
        "query_string": b"sig=secret&a=1",
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
        "headers": [HOST, (b"user-agent", b"curl/8")],
        **further,
    }


def requests():
    """Requests that end in every way."""
    yield scope("/items/3")
    yield scope("/items/3", headers=[HOST, REMOTE])
    yield scope("/items/no")
    yield scope("/items/3", "POST")
    yield scope("/nowhere")
    yield scope("/boom")
    yield scope("/refused")
    yield scope("/stream")
    yield scope("/sub/deep")
    yield scope("/items/3", "BREW")
    websocket = scope("/ws", type="websocket", scheme="ws", subprotocols=[])
    del websocket["method"]
    yield websocket


def serve(app, sent):
    """Serve these requests; return what the server saw."""
    seen = []

    async def every():
        for request in sent:
            incoming = [{"type": "http.request", "body": b""}]
            if request["type"] == "websocket":
                incoming = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "hello"}]
            waiting = iter(incoming)

            async def receive(waiting=waiting):
                return next(waiting, {"type": "http.disconnect"})

            async def send(message):
                seen.append((message["type"], message.get("status"), message.get("body"), message.get("text")))

            try:
                await app(request, receive, send)
            except Exception as error:
                seen.append(repr(error))
            seen.append(dict(context.get_current()))

    asyncio.run(every())
    return seen


def _stock(app, made, how):
    """Put the stock instrumentation in place in this way; return what a server is to call."""
    if how == "called before":
        FastAPIInstrumentor.instrument_app(app, **made.providers)
    elif how == "called among requests":
        serve(app, [scope("/items/1")])
        FastAPIInstrumentor.instrument_app(app, **made.providers)
        app.middleware_stack = app.build_middleware_stack()
    elif how == "called too late":
        # The stack is there: stock's set-up does not reach it.
        serve(app, [scope("/items/1")])
        FastAPIInstrumentor.instrument_app(app, **made.providers)
    elif how == "middleware":
        app.add_middleware(OpenTelemetryMiddleware, **made.providers)
    elif how == "around":
        return OpenTelemetryMiddleware(app, **made.providers)
    return app


def _run(recorded, how, **telemetry):
    made = recorded()
    logs = Logs()
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(logs)
    app = application({**made.providers, "logger_provider": loggers, **telemetry})
    try:
        called = _stock(app, made, how)
        seen = serve(called, requests())
    finally:
        if how.startswith("called"):
            FastAPIInstrumentor.uninstrument_app(app)
    spans = made.spans()
    kinds = [(span[1], span[7][0]) for span in spans if span[1] is SpanKind.SERVER]
    return (spans, made.metrics(), logs.found, seen), kinds


@pytest.mark.parametrize(
    "telemetry", [{}, {"operation_spans": False}, {"exclude": lambda given: "items" in given["path"]}]
)
def test_alone(both_ways, recorded, telemetry):
    """Spans, metrics and log records of FastAPI's own telemetry are those that it emits without this package."""
    (stock, _), (ours, kinds) = both_ways(lambda: _run(recorded, "", **telemetry))

    assert ours == stock
    assert {name for _, name in kinds} == {"fastapi"}
    assert len(kinds) == len(list(requests())) - (5 if "exclude" in telemetry else 0)


ONE = ["called before", "called among requests", "called too late", "middleware"]


@pytest.mark.parametrize("how", ONE)
def test_beside_the_stock_instrumentation(both_ways, recorded, conventions, how):
    """A request has one server span, stock's, if it is in the stack, as stock decides."""
    (stock, _), (ours, kinds) = both_ways(lambda: _run(recorded, how))

    del conventions
    assert _comparable(ours) == _comparable(stock)
    first = 1 if how in {"called among requests", "called too late"} else 0
    assert len(kinds) == len(list(requests())) + first
    expected = "fastapi" if how == "called too late" else "opentelemetry.instrumentation."
    assert all(name.startswith(expected) for _, name in kinds[first:]), kinds


def test_around_the_application(both_ways, recorded):
    """A middleware outside of the application, which FastAPI does not see: both emit, as without this package."""
    (stock, stock_kinds), (ours, kinds) = both_ways(lambda: _run(recorded, "around"))

    assert _comparable(ours) == _comparable(stock)
    assert kinds == stock_kinds
    assert len(kinds) == 2 * len(list(requests()))


def test_an_error_after_the_last_message(both_ways, recorded):
    """The span has ended; the error is a log record all the same."""

    async def late(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})
        raise ValueError("too late")

    async def send(_message):
        """Send a message to nobody."""

    def run():
        made, logs = recorded(), Logs()
        loggers = LoggerProvider(shutdown_on_exit=False)
        loggers.add_log_record_processor(logs)
        own = FastAPI(telemetry={**made.providers, "logger_provider": loggers})._native_telemetry
        with pytest.raises(ValueError, match="too late"):
            asyncio.run(own(app=late, scope=scope("/items/3"), receive=None, send=send))
        return made.spans(), made.metrics(), logs.found

    stock, ours = both_ways(run)

    assert ours == stock
    assert [name for name, *_ in ours[2]] == ["http.server.request.exception"]


def _comparable(found):
    """Without what differs deliberately: the values of `url.query`, and the sizes of responses without a length."""
    spans = [(*span[:2], [pair for pair in span[2] if pair[0] != "url.query"], *span[3:]) for span in found[0]]
    metrics = [point for point in found[1] if "response" not in point[1]]
    return (spans, metrics, *found[2:])
