"""What HTTP servers have in common, and aiohttp.web with the stock instrumentation."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING, Any

from opentelemetry import context as context_api
from opentelemetry import metrics, trace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from faultcheck.host import Host

_CAPTURED = {
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_REQUEST": "x-ask",
    "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_SERVER_RESPONSE": "x-answer",
}
PARENT = "00-5eed5eed5eed5eed5eed5eed5eed5eed-5eed5eed5eed5eed-01"


class Servers(Workload):
    """The providers, the environment, and what applications do."""

    about = ("otel_fastpath/http/",)
    #: Whether the user has hooks and captures headers.
    has_hooks = False

    def prepare(self) -> None:
        """What is read when the instrumentations are imported and set up."""
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http/dup"
        os.environ["OTEL_PYTHON_EXCLUDED_URLS"] = "excluded"
        if self.has_hooks:
            from opentelemetry.instrumentation.propagators import (
                TraceResponsePropagator,
                set_global_response_propagator,
            )

            os.environ.update(_CAPTURED)
            set_global_response_propagator(TraceResponsePropagator())
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        trace.set_tracer_provider(self.telemetry.tracer_provider)
        metrics.set_meter_provider(self.telemetry.meter_provider)
        self.raised: BaseException | None = None
        self.error: BaseException | None = None
        self.set_up()

    def set_up(self) -> None:
        """Make the applications, with the stock instrumentations."""
        raise NotImplementedError

    def hook(self, span: Any, *_args: Any) -> None:
        """The user's hook: it raises if it is told to."""
        if span is not None:
            span.set_attribute("hooked", "yes")
        if self.raised is not None:
            raise self.raised

    def hooks(self, *names: str) -> dict[str, Any]:
        """The hooks of these names, if there are any."""
        return dict.fromkeys(names, self.hook) if self.has_hooks else {}

    def seen(self) -> str:
        """What an application sees of its context: whether there is a span, and of which trace."""
        found = trace.get_current_span().get_span_context()
        return f"{found.is_valid and found.trace_id == int(PARENT[3:35], 16)}".lower()

    def settle(self) -> None:
        """In an empty context: stock leaves the span of a request that failed in a hook in it."""
        super().settle()
        context_api.attach(context_api.Context())


class AiohttpServer(Servers):
    """aiohttp.web on a loopback port."""

    def set_up(self) -> None:
        """The instrumentation replaces the class of applications."""
        from opentelemetry.instrumentation.aiohttp_server import AioHttpServerInstrumentor

        AioHttpServerInstrumentor().instrument(tracer_provider=self.telemetry.tracer_provider)
        # The same each time: it is in attributes.
        self._choose_port()

    def _choose_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port = found.getsockname()[1]

    def run(self, host: Host) -> None:
        """In an event loop of its own, with a server of its own."""
        self.error = host.error()
        asyncio.run(self._main(host))

    async def _main(self, host: Host) -> None:
        from aiohttp import web
        from aiohttp.test_utils import TestClient, TestServer

        app = web.Application(middlewares=[self._outer()])
        for method, path, handler in (
            ("*", "/items/{number}", self._item),
            ("GET", "/missing", self._missing),
            ("GET", "/unavailable", self._unavailable),
            ("GET", "/raises", self._raises),
            ("GET", "/stream", self._stream),
        ):
            app.router.add_route(method, path, handler)
        server = TestServer(app, port=self.port)
        try:
            await server.start_server()
        except OSError:
            # A server that was interrupted still has it.
            self._choose_port()
            server = TestServer(app, port=self.port)
        async with TestClient(server) as client:
            for name, (method, path) in {
                "get": ("GET", "/items/1?a=1"),
                "again": ("GET", "/items/1?a=1"),
                "secret": ("GET", "/items/1?sig=a"),
                "post": ("POST", "/items/1"),
                "unusual": ("PROPFIND", "/items/1"),
                "no route": ("GET", "/nowhere"),
                "missing": ("GET", "/missing"),
                "unavailable": ("GET", "/unavailable"),
                "raises": ("GET", "/raises"),
                "stream": ("GET", "/stream"),
                "excluded": ("GET", "/items/excluded"),
            }.items():
                await host.astep(name, self._request, client, method, path, {"X-Ask": "1"})
                await host.astep(f"{name}, parent", self._request, client, method, path, {"traceparent": PARENT})

    def _outer(self) -> Any:
        """A middleware of the user's, inside the instrumentation's: it sees what the handler raised."""
        from aiohttp import web

        @web.middleware
        async def outer(request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except type(self.error):
                return web.Response(text="the host's own")

        return outer

    async def _request(self, client: Any, method: str, path: str, headers: dict[str, str]) -> Any:
        async with client.request(method, path, headers=headers) as answer:
            return answer.status, await answer.text(), answer.headers.get("X-Answer")

    async def _item(self, request: Any) -> Any:
        from aiohttp import web

        return web.Response(text=f"{request.match_info['number']} {await request.text()}", headers={"X-Answer": "yes"})

    async def _missing(self, _request: Any) -> Any:
        from aiohttp import web

        raise web.HTTPNotFound(text="missing")

    async def _unavailable(self, _request: Any) -> Any:
        from aiohttp import web

        raise web.HTTPServiceUnavailable(text="unavailable")

    async def _raises(self, _request: Any) -> Any:
        raise self.error  # type: ignore[misc]  # set by `run`

    async def _stream(self, request: Any) -> Any:
        from aiohttp import web

        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in (b"a", b"b"):
            await response.write(chunk)
        return response


class AiohttpServerCaptured(AiohttpServer):
    """The same with captured headers."""

    has_hooks = True
