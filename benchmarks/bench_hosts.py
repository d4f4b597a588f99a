"""Hosts, routes and models: never seen, and more of them in turn than is kept. No dearer than stock.

    otel-fastpath budget check --file benchmarks/budgets.toml --only '*seen*'

Requests and calls are those of `bench_http_asgi`, `bench_http_clients` and `bench_openai`, to other hosts and models.
"""

from __future__ import annotations

import contextlib
import itertools
from functools import cached_property
from typing import Any

import bench_http_asgi
import bench_http_clients
import bench_openai
from setups import instrument

# Ten times what `cache.keep` keeps by default.
HOSTS = 5_120
ROUTERS, ROUTES = 50, 10


class Given:
    """The objects that the callables of this file use; `new` counts what is new.

    Args:
        core: The core of otel-fastpath; "" for none.
    """

    def __init__(self, core: str = "") -> None:
        self.new = itertools.count()
        self.clients = bench_http_clients.Given()
        if core:
            instrument(core)

    @cached_property
    def servers(self) -> bench_http_asgi.Given:
        """Applications."""
        return bench_http_asgi.Given(bench_http_asgi.providers(sampled=True))

    @cached_property
    def hosts_in_turn(self) -> Any:
        """Requests to different hosts, which have been served."""
        requests = [request(f"tenant{number}.example.org") for number in range(HOSTS)]
        for each in requests:
            serve(self.servers.instrumented("ASGI"), each)
        return itertools.cycle(requests)

    @cached_property
    def routed(self) -> Any:
        """An application of FastAPI with included routers, directly and by another, and the instrumentation."""
        from fastapi import APIRouter, FastAPI  # noqa: PLC0415  # only where it is measured
        from opentelemetry.instrumentation import fastapi  # noqa: PLC0415  # likewise

        def read(item_id: int) -> int:
            return item_id

        app, outer = FastAPI(), APIRouter()
        for number in range(ROUTERS):
            router = APIRouter(prefix=f"/router{number}")
            for route in range(ROUTES):
                router.get(f"/route{route}/{{item_id}}")(read)
            outer.include_router(router)
            app.include_router(router, prefix="/v1")
        app.include_router(outer, prefix="/v2")
        return app, fastapi

    @cached_property
    def openai(self) -> Any:
        """A client of OpenAI."""
        from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor  # noqa: PLC0415  # likewise

        OpenAIInstrumentor().instrument()
        return bench_openai.Given().client.chat.completions


def stock() -> Given:
    """The stock instrumentations and SDK."""
    return Given()


def compiled() -> Given:
    """otel-fastpath with the compiled core."""
    return Given("c")


def pure() -> Given:
    """The same with the pure core."""
    return Given("py")


def nothing(given: Given) -> None:
    """The bare call."""


def request(host: str) -> dict[str, Any]:
    """A request to a host."""
    headers = [(b"host", host.encode()), *bench_http_asgi.HEADERS[1:]]
    return {**bench_http_asgi.scope(), "headers": headers}


def serve(app: Any, scope: dict[str, Any]) -> None:
    """Serve one request."""
    with contextlib.suppress(StopIteration):
        app(scope, bench_http_asgi._receive, bench_http_asgi._send).send(None)


def served(given: Given) -> None:
    """A request to a host that was never seen."""
    serve(given.servers.instrumented("ASGI"), request(f"new{next(given.new)}.example.org"))


def served_in_turn(given: Given) -> None:
    """A request to one of more hosts in turn than are kept."""
    serve(given.servers.instrumented("ASGI"), next(given.hosts_in_turn))


def httpx(given: Given) -> None:
    """A call of httpx to a host that was never seen."""
    clients = given.clients.httpx
    clients.sync_transport.handle_request(clients.new_request("GET", f"http://new{next(given.new)}.example.org/3"))


def requests(given: Given) -> None:
    """A call of requests to a host that was never seen."""
    from requests import Request  # noqa: PLC0415  # only where it is measured

    clients = given.clients.requests
    call = Request("GET", f"http://new{next(given.new)}.example.org/3")
    clients.send(clients.session, clients.session.prepare_request(call))


def urllib3(given: Given) -> None:
    """A call of urllib3 to a host that was never seen."""
    pool = type(given.clients.urllib3.pool)(f"new{next(given.new)}.example.org", 80)
    pool.urlopen("GET", "/3", headers=given.clients.urllib3.headers)


async def _aiohttp(given: Given) -> None:
    clients = given.clients.aiohttp
    url = clients.url(f"http://new{next(given.new)}.example.org/3")
    headers = clients.headers({"Host": url.host, "Accept": "*/*"})
    trace = clients.trace(None, clients.config, clients.config.trace_config_ctx(trace_request_ctx=None))
    await trace.send_request_start("GET", url, headers)
    await trace.send_request_end("GET", url, headers, clients.response)


def aiohttp(given: Given) -> None:
    """A call of aiohttp's client to a host that was never seen."""
    bench_http_clients._run(_aiohttp(given))


def _route(given: Given, path: str) -> None:
    app, module = given.routed
    module._get_route_details({**bench_http_asgi.scope(path), "app": app})


def first_route(given: Given) -> None:
    """The route of a request, the first of a thousand."""
    _route(given, "/v1/router0/route0/3")


def nested_route(given: Given) -> None:
    """The route of a request, the first of a router inside of a router."""
    _route(given, "/v2/router0/route0/3")


def last_route(given: Given) -> None:
    """The route of a request, the last of all."""
    _route(given, f"/v2/router{ROUTERS - 1}/route{ROUTES - 1}/3")


def no_route(given: Given) -> None:
    """A request for which there is no route."""
    _route(given, "/items/3")


def chat(given: Given) -> None:
    """A call of a model that was never seen."""
    given.openai.create(**{**bench_openai.CHAT, "model": f"ft:gpt-4o-mini:{next(given.new)}"})
