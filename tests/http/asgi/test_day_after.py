"""Requests of ASGI applications beside forks, signals, the garbage collector, other code's patches and long input."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import re
import signal
import threading
import time
import tracemalloc
from collections import deque
from urllib import parse

import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.instrumentation.starlette import StarletteInstrumentor
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
BODY = {"type": "http.response.body", "body": b"ok"}
MEGABYTE = 1 << 20
NAMES = ["GET / http receive", "GET / http send", "GET / http send", "GET /"]


def scope(path="/", headers=(), query=b""):
    """A request."""
    return {
        "type": "http",
        "method": "GET",
        "scheme": "http",
        "http_version": "1.1",
        "path": path,
        "query_string": query,
        "server": ("127.0.0.1", 8000),
        "client": ("127.0.0.1", 5000),
        "headers": [(b"host", b"localhost"), *headers],
    }


async def _application(_scope, receive, send):
    await receive()
    await send(dict(START))
    await send(dict(BODY))


async def _receive():
    return {"type": "http.request"}


async def _send(_message):
    pass


def serve(middleware, request=None):
    """Serve one request."""
    asyncio.run(middleware(request or scope(), _receive, _send))


@pytest.mark.parametrize("order", ["before", "after"])
def test_another_vendors_patch_of_the_method_is_called(instrumentor, core, recorded, monkeypatch, order):
    """Whoever wraps the method before or after us is called once for each request, and the spans are there once."""
    calls = []

    def wrap():
        below = OpenTelemetryMiddleware.__call__

        async def vendors(self, scope, receive, send):
            calls.append(scope["path"])
            return await below(self, scope, receive, send)

        monkeypatch.setattr(OpenTelemetryMiddleware, "__call__", vendors)

    if order == "before":
        wrap()
    instrumentor.instrument(core=core)
    if order == "after":
        wrap()
    made = recorded()
    middleware = OpenTelemetryMiddleware(_application, **made.providers)

    serve(middleware)
    instrumentor.uninstrument()
    serve(middleware)

    assert calls == ["/", "/"]
    assert [span[0] for span in made.spans()] == NAMES * 2


class Names(SpanProcessor):
    """Keeps the names of the spans that ended.

    Args:
        most: How many are kept, the last ones; None: all.
    """

    def __init__(self, most=None):
        self.ended = deque(maxlen=most)

    def on_end(self, span):
        """Keep one."""
        self.ended.append(span.name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("children", [3, pytest.param(30, marks=pytest.mark.slow)])
def test_a_child_that_was_forked_among_requests_serves(instrumented, recorded, children):
    """Threads serve requests while the process forks: each child serves requests and ends."""
    del instrumented
    # Not the exporter in memory: it has a lock that another thread may hold while the process forks.
    provider = TracerProvider()
    provider.add_span_processor(Names(most=3))
    middleware = OpenTelemetryMiddleware(_application, tracer_provider=provider, meter_provider=recorded().meters)
    is_over = threading.Event()

    def keep_serving():
        while not is_over.is_set():
            serve(middleware)

    threads = [threading.Thread(target=keep_serving) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(children):
            child = os.fork()
            if not child:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)
                fresh = recorded()
                serve(OpenTelemetryMiddleware(_application, **fresh.providers))
                serve(middleware)
                os._exit(0 if [span[0] for span in fresh.spans()] == NAMES else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no interval timers on this platform")
def test_a_signal_handler_that_serves_a_request(instrumented, recorded):
    """A handler that runs anywhere inside of a request has a request of its own; both are whole."""
    del instrumented
    # Not the exporter's processor: it suppresses instrumentation while it exports, also in the handler.
    names = Names()
    provider = TracerProvider()
    provider.add_span_processor(names)
    middleware = OpenTelemetryMiddleware(_application, tracer_provider=provider, meter_provider=recorded().meters)
    served = []

    def handle(_number, _frame):
        coroutine = middleware(scope("/signal"), _receive, _send)
        with pytest.raises(StopIteration):
            coroutine.send(None)
        served.append(trace.get_current_span())
        # Only now: where a request takes longer, handlers would interrupt each other until the stack is full.
        signal.setitimer(signal.ITIMER_REAL, 0.0007)

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0007)
    try:
        deadline = time.monotonic() + 20
        while len(served) < 50 and time.monotonic() < deadline:
            serve(middleware)
    finally:
        # First, because a handler that is under way sets the timer again.
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    names = names.ended
    assert len(served) >= 50
    assert names.count("GET /signal") == len(served)
    assert names.count("GET /signal http send") == 2 * len(served)
    assert names.count("GET / http send") == 2 * names.count("GET /")
    assert trace.get_current_span() is trace.INVALID_SPAN


class Never:
    """Is awaited for ever."""

    def __await__(self):
        """Wait."""
        yield


def test_a_request_whose_coroutine_is_thrown_away(instrumented, recorded):
    """The garbage collector closes it: its spans end, and nothing of it stays current."""
    del instrumented
    made = recorded()
    middleware = OpenTelemetryMiddleware(_application, **made.providers)

    async def forever():
        await Never()

    for _ in range(20):
        coroutine = middleware(scope(), forever, _send)
        cycle = [coroutine]
        cycle.append(cycle)
        coroutine.send(None)
        del coroutine, cycle
        gc.collect()

    assert [span[0] for span in made.spans()] == ["GET / http receive", "GET /"] * 20
    assert made.metrics()[0][-2] == 0
    assert trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.parametrize(
    "request_",
    [
        scope("/" + "a" * MEGABYTE),
        scope(query=b"sig=" + b"a" * MEGABYTE),
        scope(query=b"%41" * (MEGABYTE // 3)),
        scope(headers=[(b"user-agent", b"a" * MEGABYTE)]),
        scope(headers=[(b"host", b"a" * MEGABYTE)]),
        scope(headers=[(b"traceparent", b"a" * MEGABYTE), (b"baggage", b"a=b," * (MEGABYTE // 4))]),
        scope(headers=[(b"x-%d" % number, b"a") for number in range(MEGABYTE // 32)]),
    ],
    ids=["path", "secret", "escapes", "agent", "host", "parent", "headers"],
)
@pytest.mark.parametrize("conventions", ["", "http", "http/dup"], indirect=True)
def test_a_megabyte_of_input(instrumented, recorded, conventions, caplog, request_):
    """It is served, and nothing of it is kept for the next request."""
    del instrumented, conventions
    # Stock logs a long header, which pytest keeps.
    caplog.set_level("ERROR", logger="opentelemetry.baggage.propagation")
    made = recorded(ALWAYS_OFF)
    middleware = OpenTelemetryMiddleware(_application, tracer_provider=made.tracers)
    serve(middleware)
    tracemalloc.start()
    try:
        for _ in range(3):
            serve(middleware, dict(request_))
        parse.clear_cache()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < MEGABYTE / 2


@pytest.mark.parametrize("change", ["instruments", "copy"])
def test_a_middleware_whose_settings_change(both_ways, recorded, change):
    """Stock reads the tracer and the instruments at each request; a copy of a middleware has its own."""

    def run():
        first, second = recorded(), recorded()
        middleware = OpenTelemetryMiddleware(_application, **first.providers)
        serve(middleware)
        others = vars(OpenTelemetryMiddleware(_application, **second.providers))
        if change == "copy":
            middleware = copy.copy(middleware)
            vars(middleware).update(others)
        else:
            for name in ("tracer", "active_requests_counter", "duration_histogram_old"):
                setattr(middleware, name, others[name])
        serve(middleware)
        return [(each.spans(), each.metrics()) for each in (first, second)]

    stock, ours = both_ways(run)

    assert ours == stock


@pytest.mark.parametrize("length", [1, 7000])
def test_strangers_below_a_mount_with_a_parameter_fill_no_memory(instrumented, recorded, length):
    """The `root_path` of such a request, which is in its metrics, is what a stranger has asked for."""
    del instrumented

    async def answer(_request):
        return Response("ok")

    app = Starlette(routes=[Mount("/{tenant}", routes=[Route("/items", answer)])])
    StarletteInstrumentor.instrument_app(app, tracer_provider=recorded(ALWAYS_OFF).tracers)

    def serve_strangers(first, last):
        for number in range(first, last):
            serve(app, {**scope(f"/{number}{'a' * length}/items"), "headers": [(b"host", b"h%d" % (number % 20))]})

    serve_strangers(0, 20)
    tracemalloc.start()
    try:
        serve_strangers(20, 1220)
        # Older releases of Starlette compile a pattern of each such path, which `re` keeps.
        re.purge()
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 2 * MEGABYTE


def test_thousands_of_routes_fill_no_memory(instrumented, recorded):
    """Those that begin with a parameter are not kept once more for each of the others."""
    del instrumented

    async def answer(_request):
        return Response("ok")

    number = 2000
    paths = [path for each in range(number) for path in (f"/{{tenant}}/{each}", f"/static{each}/items")]
    app = Starlette(routes=[Route(path, answer) for path in paths])
    made = recorded()
    StarletteInstrumentor.instrument_app(app, tracer_provider=made.tracers)
    tracemalloc.start()
    try:
        for each in (0, number - 1):
            serve(app, scope(f"/static{each}/items"))
            serve(app, scope(f"/other/{each}"))
            serve(app, scope(f"/static{each}/{each}"))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    names = [
        f"GET {path}" for each in (0, number - 1) for path in (f"/static{each}/items", *[f"/{{tenant}}/{each}"] * 2)
    ]
    assert [span[0] for span in made.spans() if span[1] is SpanKind.SERVER] == names
    assert kept < 4 * MEGABYTE
