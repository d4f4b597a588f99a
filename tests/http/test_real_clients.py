"""Redirects, retries, streams, time-outs, pools and proxies on a real server: spans and metrics are as stock's."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import aiohttp
import httpx
import pytest
import requests
import urllib3
from clientcheck import World, stocks_own_hooks, told_by_both
from opentelemetry import trace
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor

# The server answers `/slow` later than that.
SHORT = 0.15
CHUNKS = [b"chunk"] * 3
# Each under a span of its own, at the same time as the others.
CONCURRENT = 12


class Handler(BaseHTTPRequestHandler):
    """Answers in every way that a client has to deal with; also a proxy, which answers by itself."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        """Answer."""
        path = urlsplit(self.path).path
        self.server.visits[path] += 1
        self.server.told.append((self.path, self.headers["traceparent"]))
        if path == "/drop":
            self.close_connection = True
        elif path == "/stream":
            self._answer(200, None)
        elif path == "/flaky":
            self._answer(200 if self.server.visits[path] > 2 else 503)
        elif path in {"/from", "/loop"}:
            self._answer(302, Location="/ok" if path == "/from" else path)
        else:
            if path == "/slow":
                self.server.is_over.wait(10)
            self._answer(int(path[1:]) if path[1:].isdigit() else 200)

    def do_POST(self):
        """Read the body, in chunks or not, and tell its length."""
        body = b""
        if self.headers["Transfer-Encoding"]:
            while length := int(self.rfile.readline(), 16):
                body += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(201, b"%d" % len(body))

    def _answer(self, status, body=b"answer", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        length = ("Transfer-Encoding", "chunked") if body is None else ("Content-Length", str(len(body)))
        self.send_header(*length)
        self.end_headers()
        if body is None:
            body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*CHUNKS, b""])
        self.wfile.write(body)

    def log_message(self, *_args):
        """Be quiet."""


class Server(ThreadingHTTPServer):
    """Notes what it is asked for."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.is_over = threading.Event()
        self.forget()

    def forget(self):
        """Begin again."""
        self.visits, self.told = Counter(), []

    def handle_error(self, *_args):
        """A client has gone."""


@pytest.fixture(scope="module")
def server():
    """The server."""
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.is_over.set()
        running.shutdown()
        thread.join()


def _upload():
    yield from CHUNKS


async def _async_upload():
    for chunk in CHUNKS:
        yield chunk


def _retry():
    return urllib3.Retry(2, status_forcelist=[503], backoff_factor=0, raise_on_redirect=True)


def with_requests(url):
    """The calls of requests, by name."""
    session = requests.Session()
    session.trust_env, session.max_redirects = False, 3
    session.mount("http://", requests.adapters.HTTPAdapter(max_retries=_retry(), pool_maxsize=2))

    def get(path, **more):
        answer = session.get(url + path, **more)
        return answer.status_code, answer.content, len(answer.history)

    calls = {path: lambda path=path: get(path) for path in ("/ok", "/404", "/500", "/from", "/loop", "/flaky", "/drop")}
    return calls | {
        "stream": lambda: list(session.get(url + "/stream", stream=True).iter_content(5)),
        "upload": lambda: session.post(url + "/up", data=_upload()).text,
        "form": lambda: session.post(url + "/up", data={"a": "b"}).text,
        "timeout": lambda: get("/slow", timeout=SHORT),
        "proxy": lambda: get("/ok?proxied&sig=S", proxies={"http": url}),
        "refused": lambda: session.get("http://127.0.0.1:1/a"),
        "each": lambda number: get(f"/ok?{number}"),
        "close": session.close,
    }


def with_urllib3(url):
    """The calls of urllib3, by name."""
    pools = urllib3.PoolManager(maxsize=2, retries=_retry())
    proxy = urllib3.ProxyManager(url)

    def get(path, by=pools, **more):
        answer = by.request("GET", url + path, **more)
        return answer.status, answer.data

    calls = {path: lambda path=path: get(path) for path in ("/ok", "/404", "/500", "/from", "/loop", "/flaky", "/drop")}
    return calls | {
        "stream": lambda: list(pools.request("GET", url + "/stream", preload_content=False).stream(5)),
        "upload": lambda: pools.request("POST", url + "/up", body=_upload()).data,
        "form": lambda: pools.request("POST", url + "/up", fields={"a": "b"}, encode_multipart=False).data,
        "timeout": lambda: get("/slow", timeout=SHORT, retries=False),
        "proxy": lambda: get("/ok?proxied", proxy),
        "refused": lambda: pools.request("GET", "http://127.0.0.1:1/a", retries=1),
        "each": lambda number: get(f"/ok?{number}"),
        "close": lambda: [each.clear() for each in (pools, proxy)],
    }


def with_httpx(url):
    """The calls of httpx, by name."""
    client = httpx.Client(trust_env=False, follow_redirects=True, max_redirects=3)

    def get(path, **more):
        answer = client.get(url + path, **more)
        return answer.status_code, answer.content, len(answer.history)

    def stream():
        with client.stream("GET", url + "/stream") as answer:
            return b"".join(answer.iter_bytes())

    def proxy():
        with httpx.Client(proxy=url, trust_env=False) as by:
            return by.get(url + "/ok?proxied&sig=S").status_code

    calls = {path: lambda path=path: get(path) for path in ("/ok", "/404", "/500", "/from", "/loop", "/drop")}
    return calls | {
        "stream": stream,
        "upload": lambda: client.post(url + "/up", content=_upload()).text,
        "form": lambda: client.post(url + "/up", data={"a": "b"}).text,
        "timeout": lambda: get("/slow", timeout=SHORT),
        "proxy": proxy,
        "refused": lambda: client.get("http://127.0.0.1:1/a"),
        "each": lambda number: get(f"/ok?{number}"),
        "close": client.close,
    }


def with_async_httpx(url):
    """The asynchronous calls of httpx, by name."""
    client = httpx.AsyncClient(trust_env=False, follow_redirects=True, max_redirects=3)

    async def get(path, **more):
        answer = await client.get(url + path, **more)
        return answer.status_code, answer.content, len(answer.history)

    async def stream():
        async with client.stream("GET", url + "/stream") as answer:
            return b"".join([chunk async for chunk in answer.aiter_bytes()])

    async def proxy():
        async with httpx.AsyncClient(proxy=url, trust_env=False) as by:
            return (await by.get(url + "/ok?proxied&sig=S")).status_code

    async def post(**more):
        return (await client.post(url + "/up", **more)).text

    calls = {path: lambda path=path: get(path) for path in ("/ok", "/404", "/500", "/from", "/loop", "/drop")}
    return calls | {
        "stream": stream,
        "upload": lambda: post(content=_async_upload()),
        "form": lambda: post(data={"a": "b"}),
        "timeout": lambda: get("/slow", timeout=SHORT),
        "cancelled": lambda: asyncio.wait_for(get("/slow"), SHORT),
        "proxy": proxy,
        "refused": lambda: client.get("http://127.0.0.1:1/a"),
        "each": lambda number: get(f"/ok?{number}"),
        "close": client.aclose,
    }


def with_aiohttp(url):
    """The calls of aiohttp, by name."""
    session = aiohttp.ClientSession()

    async def get(path, base=url, **more):
        async with session.get(base + path, **more) as answer:
            return answer.status, await answer.read(), len(answer.history)

    async def stream():
        async with session.get(url + "/stream") as answer:
            return b"".join([chunk async for chunk in answer.content.iter_chunked(5)])

    async def post(data):
        async with session.post(url + "/up", data=data) as answer:
            return await answer.text()

    calls = {path: lambda path=path: get(path) for path in ("/ok", "/404", "/500", "/from", "/drop")}
    return calls | {
        "loop": lambda: get("/loop", max_redirects=3),
        "raised": lambda: get("/404", raise_for_status=True),
        "stream": stream,
        "upload": lambda: post(_async_upload()),
        "form": lambda: post({"a": "b"}),
        "timeout": lambda: get("/slow", timeout=aiohttp.ClientTimeout(SHORT)),
        "cancelled": lambda: asyncio.wait_for(get("/slow"), SHORT),
        "proxy": lambda: get("/ok?proxied&sig=S", proxy=url),
        "refused": lambda: get("/a", "http://127.0.0.1:1"),
        "each": lambda number: get(f"/ok?{number}"),
        "close": session.close,
    }


# The names of the patches; the stock instrumentations; the calls.
CLIENTS = {
    "requests": ("requests.", [RequestsInstrumentor, URLLib3Instrumentor], with_requests),
    "urllib3": ("urllib3.", [URLLib3Instrumentor], with_urllib3),
    "httpx": ("httpx.", [HTTPXClientInstrumentor], with_httpx),
    "httpx, async": ("httpx.", [HTTPXClientInstrumentor], with_async_httpx),
    "aiohttp": ("aiohttp_client.", [AioHttpClientInstrumentor], with_aiohttp),
}


async def _outcome(call, *args):
    """What the caller gets, of either kind of call."""
    try:
        found = call(*args)
        return await found if asyncio.iscoroutine(found) else found
    except Exception as error:
        return type(error)


async def _each(calls, tracer):
    """Calls at the same time, each in a task or thread and a span of its own."""

    async def one(number):
        with tracer.start_as_current_span(f"caller {number}"):
            return await _outcome(calls["each"], number)

    # Only with asynchronous clients are they in one thread.
    if asyncio.iscoroutinefunction(calls["close"]):
        await asyncio.gather(*map(one, range(CONCURRENT)))
        return
    with ThreadPoolExecutor(CONCURRENT) as threads:
        list(threads.map(lambda number: asyncio.run(one(number)), range(CONCURRENT)))


@contextmanager
def _instrumented(kinds, world):
    with ExitStack() as stack:
        for kind in kinds:
            kind().instrument(tracer_provider=world.tracers, meter_provider=world.meters)
            stack.callback(kind().uninstrument)
        yield


def _run(server, kinds, make):
    """What the callers get, what is emitted, and below which spans the server was asked."""
    world = World()
    server.forget()
    tracer = world.tracers.get_tracer("callers")

    async def run():
        calls, outcomes = make(server.url), {}
        for name, call in calls.items():
            if name not in {"each", "close"}:
                with tracer.start_as_current_span(name):
                    outcomes[name] = await _outcome(call)
                outcomes[name] = outcomes[name], trace.get_current_span().is_recording()
        outcomes |= await _each(calls, tracer) or {}
        await _outcome(calls["close"])
        return outcomes

    with _instrumented(kinds, world):
        outcomes = asyncio.run(run())
    finished = world.exporter.get_finished_spans()
    names = {span.context.span_id: span for span in finished}
    callers = [_caller(names, span.context.span_id) for span in finished]
    told = [(path, header and _caller(names, int(header.split("-")[2], 16))) for path, header in server.told]
    return outcomes, _plain(world.seen()), sorted(map(str, callers)), sorted(map(str, told))


def _caller(spans, span_id):
    """The name of a span with the URL, and that of its parent."""
    span = spans[span_id]
    attributes = span.attributes
    shown = attributes.get("http.url") or attributes.get("url.full")
    return span.name, shown, span.parent and spans[span.parent.span_id].name


def _plain(seen):
    """Without the addresses of objects, and with the concurrent calls in order."""
    spans, points = seen
    spans = [
        (*span[:4], _without_addresses(span[4]), span[5], _without_addresses(span[6]), *span[7:]) for span in spans
    ]
    return sorted(spans, key=str), sorted(points, key=str)


def _without_addresses(value):
    return re.sub(r"0x[0-9a-f]+", "", str(value))


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.usefixtures("conventions")
def test_what_a_real_server_answers(instrumented, no_faults, server, client):
    """Each way in which a call can go, one after the other; then calls at the same time, each below its own caller."""
    pattern, kinds, make = CLIENTS[client]
    with stocks_own_hooks(instrumented, pattern):
        expected = _run(server, kinds, make)

    found = _run(server, kinds, make)

    assert found[0] == expected[0]
    assert found[3] == expected[3]
    ways = zip((told_by_both(found[:2]), told_by_both(expected[:2])), (found, expected), strict=True)
    ours, stock = [(told, callers) for told, (_, _, callers, _) in ways]
    if client == "urllib3":
        # Stock shows what the other clients redact.
        assert ours[0] == stock[0]
    else:
        assert ours == stock
    # Each has the number of its caller in its URL.
    numbers = [re.findall(r"/ok\?(\d+)|caller (\d+)", each) for each in found[2] if "/ok?" in each and "caller" in each]
    assert [(url, caller) for (url, _), (_, caller) in numbers] == [(url, url) for (url, _), _ in numbers]
    assert len(numbers) == CONCURRENT
    assert no_faults.counts() == {}
