"""Calls of the HTTP clients whose stock instrumentations we accelerate, with a stub in the place of the network.

    otel-fastpath budget check --file benchmarks/budgets.toml --only 'httpx*'

The set-ups are `stock`, stock's hooks without otel-fastpath; `compiled` and `pure`, with it; and those that start
with `stock_` or `compiled_`, for other configurations. The bare calls are not instrumented.
"""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import bench_span
import setups

# Scenarios are counted in forks: modules that every set-up imports are imported before the fork.
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

URL = "http://localhost:8000/items/3"


def _sdk(ratio: float = 1.0) -> None:
    trace.set_tracer_provider(bench_span.batching(ParentBasedTraceIdRatio(ratio)))
    metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False))


class Given:
    """The objects that the callables of this file use, for each library when it is first called.

    Args:
        core: The core of otel-fastpath; "" for none.
        ratio: How many traces are sampled; None: there is no SDK.
        environ: Environment variables.
    """

    def __init__(self, core: str = "", ratio: float | None = 1.0, **environ: str) -> None:
        os.environ.update(environ)
        if ratio is not None:
            _sdk(ratio)
        if core:
            setups.instrument(core)

    @cached_property
    def httpx(self) -> _Httpx:
        """For httpx."""
        return _Httpx()

    @cached_property
    def requests(self) -> _Requests:
        """For requests."""
        return _Requests()

    @cached_property
    def aiohttp(self) -> _Aiohttp:
        """For the client of aiohttp."""
        return _Aiohttp()

    @cached_property
    def urllib3(self) -> _Urllib3:
        """For urllib3."""
        return _Urllib3()


def stock() -> Given:
    """Stock's instrumentations."""
    return Given()


def compiled() -> Given:
    """With the compiled core."""
    return Given("c")


def pure() -> Given:
    """With the pure core."""
    return Given("py")


def stock_new() -> Given:
    """Stock's, new conventions."""
    return Given(OTEL_SEMCONV_STABILITY_OPT_IN="http")


def compiled_new() -> Given:
    """With the compiled core, new conventions."""
    return Given("c", OTEL_SEMCONV_STABILITY_OPT_IN="http")


def stock_dropped() -> Given:
    """Stock's, nothing is sampled."""
    return Given(ratio=0.0)


def compiled_dropped() -> Given:
    """With the compiled core, nothing is sampled."""
    return Given("c", ratio=0.0)


def stock_no_sdk() -> Given:
    """Stock's, without an SDK."""
    return Given(ratio=None)


def compiled_no_sdk() -> Given:
    """With the compiled core, without an SDK."""
    return Given("c", ratio=None)


def stock_excluded() -> Given:
    """Stock's, the URL is excluded."""
    return Given(OTEL_PYTHON_EXCLUDED_URLS="items")


def compiled_excluded() -> Given:
    """With the compiled core, the URL is excluded."""
    return Given("c", OTEL_PYTHON_EXCLUDED_URLS="items")


def _run(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Run a coroutine that never waits."""
    with suppress(StopIteration):
        coroutine.send(None)


class _Httpx:
    """Transports of httpx with a stub: instrumented, and not."""

    def __init__(self) -> None:
        import httpx  # noqa: PLC0415  # only where it is measured
        from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor  # noqa: PLC0415  # likewise

        def handle_request(_transport: Any, request: Any) -> Any:
            return httpx.Response(200, request=request)

        async def handle_async_request(_transport: Any, request: Any) -> Any:
            return httpx.Response(200, request=request)

        bare = type("Bare", (), {"handle_request": handle_request, "handle_async_request": handle_async_request})
        httpx.HTTPTransport.handle_request = handle_request
        httpx.AsyncHTTPTransport.handle_async_request = handle_async_request
        HTTPXClientInstrumentor().instrument()
        self.new_request: Callable[[str, str], Any] = httpx.Client().build_request
        self.bare = bare()
        self.sync_transport = httpx.HTTPTransport()
        self.async_transport = httpx.AsyncHTTPTransport()


def httpx_bare(given: Given) -> None:
    """A request without an instrumentation."""
    given.httpx.bare.handle_request(given.httpx.new_request("GET", URL))


def httpx(given: Given) -> None:
    """A request."""
    given.httpx.sync_transport.handle_request(given.httpx.new_request("GET", URL))


def httpx_async_bare(given: Given) -> None:
    """An asynchronous request without an instrumentation."""
    _run(given.httpx.bare.handle_async_request(given.httpx.new_request("GET", URL)))


def httpx_async(given: Given) -> None:
    """An asynchronous request."""
    _run(given.httpx.async_transport.handle_async_request(given.httpx.new_request("GET", URL)))


class _Requests:
    """A session of requests with a stub in the place of its adapter, and the method without an instrumentation."""

    def __init__(self) -> None:
        import requests  # noqa: PLC0415  # only where it is measured
        from opentelemetry.instrumentation.requests import RequestsInstrumentor  # noqa: PLC0415  # likewise

        def send(_session: Any, request: Any) -> Any:
            response = requests.Response()
            response.status_code, response.request = 200, request
            return response

        self.bare = send
        requests.Session.send = send
        RequestsInstrumentor().instrument()
        self.session = requests.Session()
        self.send = requests.Session.send

    def new_request(self) -> Any:
        """A prepared request."""
        from requests import Request  # noqa: PLC0415  # only where it is measured

        return self.session.prepare_request(Request("GET", URL))


def requests_bare(given: Given) -> None:
    """A request without an instrumentation."""
    given.requests.bare(given.requests.session, given.requests.new_request())


def requests(given: Given) -> None:
    """A request."""
    given.requests.send(given.requests.session, given.requests.new_request())


class _Aiohttp:
    """What a session of aiohttp runs for the trace configurations of one request."""

    def __init__(self) -> None:
        from types import SimpleNamespace  # noqa: PLC0415  # only where it is measured

        from aiohttp.tracing import Trace  # noqa: PLC0415  # likewise
        from multidict import CIMultiDict  # noqa: PLC0415  # likewise
        from opentelemetry.instrumentation import aiohttp_client  # noqa: PLC0415  # likewise
        from yarl import URL as YARL  # noqa: PLC0415  # likewise

        self.trace: Callable[..., Any] = Trace
        self.headers: Callable[..., Any] = CIMultiDict
        self.url: Callable[[str], Any] = YARL
        self.response = SimpleNamespace(status=200, headers=CIMultiDict())
        self.config = aiohttp_client.create_trace_config()
        self.config.freeze()


async def _aiohttp(given: _Aiohttp, *, is_traced: bool) -> None:
    url, headers = given.url(URL), given.headers({"Host": "localhost:8000", "Accept": "*/*"})
    if is_traced:
        trace = given.trace(None, given.config, given.config.trace_config_ctx(trace_request_ctx=None))
        await trace.send_request_start("GET", url, headers)
        await trace.send_request_end("GET", url, headers, given.response)


def aiohttp_bare(given: Given) -> None:
    """A request without an instrumentation."""
    _run(_aiohttp(given.aiohttp, is_traced=False))


def aiohttp(given: Given) -> None:
    """A request."""
    _run(_aiohttp(given.aiohttp, is_traced=True))


class _Urllib3:
    """A connection pool of urllib3 with a stub in the place of its method, and the method itself."""

    def __init__(self) -> None:
        from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor  # noqa: PLC0415  # only where it is measured
        from urllib3 import HTTPConnectionPool, HTTPResponse  # noqa: PLC0415  # likewise

        def urlopen(  # urllib3's names
            _pool: Any,
            method: str,  # noqa: ARG001
            url: str,  # noqa: ARG001
            body: Any = None,  # noqa: ARG001
            headers: Any = None,  # noqa: ARG001
            **_more: Any,
        ) -> Any:
            return HTTPResponse(status=200, headers={"content-length": "0"}, version=11)

        self.bare = urlopen
        HTTPConnectionPool.urlopen = urlopen
        URLLib3Instrumentor().instrument()
        self.pool = HTTPConnectionPool("localhost", 8000)
        self.headers = {"Accept": "*/*"}


def urllib3_bare(given: Given) -> None:
    """A request without an instrumentation."""
    given.urllib3.bare(given.urllib3.pool, "GET", "/items/3", headers=given.urllib3.headers)


def urllib3(given: Given) -> None:
    """A request."""
    given.urllib3.pool.urlopen("GET", "/items/3", headers=given.urllib3.headers)
