"""Calls of each HTTP client library to a server on a loopback port: bare, or with the stock instrumentation."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import httpx
import requests
import urllib3
from hosts import HOOKS, PROVIDERS, Outcomes, only, run
from opentelemetry.instrumentation.aiohttp_client import AioHttpClientInstrumentor
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor
from opentelemetry.instrumentation.requests import RequestsInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor

# A port at which there is no server.
REFUSED = "http://127.0.0.1:1/"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        """Answer with the status that the path names."""
        body = self.command.encode()
        self.send_response(int(self.path.strip("/").partition("?")[0] or 200))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815  # the name is the base's

    def log_message(self, *_args):
        """Say nothing."""


@contextmanager
def serving():
    """A server; gives its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _calls(url, calls):
    """Method and URL of each call."""
    if calls:
        return ((method, target.replace("{url}", url)) for method, target in calls)
    usual = [("GET", f"{url}/200?a=1"), ("GET", f"{url}/200?a=1"), ("POST", f"{url}/404"), ("GET", f"{url}/500")]
    return [*usual, ("GET", REFUSED), ("GET", f"{url}/200")]


@contextmanager
def _instrumented(instrumentor, given):
    if given:
        instrumentor().instrument(**only(given, *PROVIDERS, *HOOKS))
    try:
        yield
    finally:
        if given:
            instrumentor().uninstrument()


def _called(stock, given, client, ask, url, calls):
    outcomes = Outcomes()
    with _instrumented(stock, given), client() as made:
        for each in _calls(url, calls):
            outcomes.call(ask, made, *each)
    return outcomes.found


def _awaited(stock, given, client, ask, url, calls):
    async def main():
        outcomes = Outcomes()
        async with client() as made:
            for each in _calls(url, calls):
                await outcomes.wait(ask, made, *each)
        return outcomes.found

    with _instrumented(stock, given):
        return run(main)


def urllib3_(given, url, calls=()):
    """Calls of urllib3."""

    def ask(client, *target):
        answer = client.request(*target)
        return answer.status, answer.data

    return _called(URLLib3Instrumentor, given, lambda: urllib3.PoolManager(retries=False), ask, url, calls)


def requests_(given, url, calls=()):
    """Calls of requests."""

    def ask(client, *target):
        client.trust_env = False
        answer = client.request(*target)
        return answer.status_code, answer.content

    return _called(RequestsInstrumentor, given, requests.Session, ask, url, calls)


def httpx_(given, url, calls=()):
    """Calls of httpx."""

    def ask(client, *target):
        answer = client.request(*target)
        return answer.status_code, answer.content

    return _called(HTTPXClientInstrumentor, given, lambda: httpx.Client(trust_env=False), ask, url, calls)


def httpx_async(given, url, calls=()):
    """Asynchronous calls of httpx."""

    async def ask(client, *target):
        answer = await client.request(*target)
        return answer.status_code, answer.content

    return _awaited(HTTPXClientInstrumentor, given, lambda: httpx.AsyncClient(trust_env=False), ask, url, calls)


def aiohttp_client(given, url, calls=()):
    """Calls of aiohttp's client."""

    async def ask(client, *target):
        async with client.request(*target) as answer:
            return answer.status, await answer.read()

    return _awaited(AioHttpClientInstrumentor, given, aiohttp.ClientSession, ask, url, calls)


CLIENTS = {
    "urllib3": urllib3_,
    "requests": requests_,
    "httpx": httpx_,
    "httpx, async": httpx_async,
    "aiohttp": aiohttp_client,
}
