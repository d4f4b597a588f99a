"""Calls of each HTTP client library to a server on a loopback port: bare, or with the official instrumentation."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aiohttp
import httpx
import requests
import urllib3
from hosts import Outcomes, only, run
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
        return [(method, target.replace("{url}", url)) for method, target in calls]
    usual = [("GET", f"{url}/200?a=1"), ("GET", f"{url}/200?a=1"), ("POST", f"{url}/404"), ("GET", f"{url}/500")]
    return [*usual, ("GET", REFUSED), ("GET", f"{url}/200")]


@contextmanager
def _instrumented(instrumentor, given):
    if given:
        instrumentor().instrument(**only(given, "tracer_provider", "meter_provider"))
    try:
        yield
    finally:
        if given:
            instrumentor().uninstrument()


def urllib3_(given, url, calls=()):
    """Calls of urllib3."""
    outcomes = Outcomes()
    with _instrumented(URLLib3Instrumentor, given), urllib3.PoolManager(retries=False) as pool:

        def call(method, target):
            answer = pool.request(method, target)
            return answer.status, answer.data

        for each in _calls(url, calls):
            outcomes.call(call, *each)
    return outcomes.found


def requests_(given, url, calls=()):
    """Calls of requests."""
    outcomes = Outcomes()
    with _instrumented(RequestsInstrumentor, given), requests.Session() as session:
        session.trust_env = False

        def call(method, target):
            answer = session.request(method, target)
            return answer.status_code, answer.content

        for each in _calls(url, calls):
            outcomes.call(call, *each)
    return outcomes.found


def httpx_(given, url, calls=()):
    """Calls of httpx."""
    outcomes = Outcomes()
    with _instrumented(HTTPXClientInstrumentor, given), httpx.Client(trust_env=False) as client:

        def call(method, target):
            answer = client.request(method, target)
            return answer.status_code, answer.content

        for each in _calls(url, calls):
            outcomes.call(call, *each)
    return outcomes.found


def httpx_async(given, url, calls=()):
    """Asynchronous calls of httpx."""

    async def main():
        outcomes = Outcomes()
        async with httpx.AsyncClient(trust_env=False) as client:

            async def call(method, target):
                answer = await client.request(method, target)
                return answer.status_code, answer.content

            for each in _calls(url, calls):
                await outcomes.wait(call, *each)
        return outcomes.found

    with _instrumented(HTTPXClientInstrumentor, given):
        return run(main)


def aiohttp_client(given, url, calls=()):
    """Calls of aiohttp's client."""

    async def main():
        outcomes = Outcomes()
        async with aiohttp.ClientSession() as session:

            async def call(method, target):
                async with session.request(method, target) as answer:
                    return answer.status, await answer.read()

            for each in _calls(url, calls):
                await outcomes.wait(call, *each)
        return outcomes.found

    with _instrumented(AioHttpClientInstrumentor, given):
        return run(main)


CLIENTS = {
    "urllib3": urllib3_,
    "requests": requests_,
    "httpx": httpx_,
    "httpx, async": httpx_async,
    "aiohttp": aiohttp_client,
}
