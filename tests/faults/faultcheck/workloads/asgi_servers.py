"""Applications of ASGI, Starlette and FastAPI with the stock instrumentations, called as a server calls them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from opentelemetry import trace

from faultcheck.host import HostError
from faultcheck.workloads.http_servers import PARENT, Servers

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultcheck.host import Host

_TRACED = (b"traceparent", PARENT.encode())
# Method, path, query, headers.
_REQUESTS: dict[str, tuple[str, str, bytes, list[tuple[bytes, bytes]]]] = {
    "get": ("GET", "/items/1", b"a=1", []),
    "again": ("GET", "/items/1", b"a=1", []),
    "secret": ("GET", "/items/1", b"sig=a", [(b"user-agent", b"googlebot"), (b"x-ask", b"1")]),
    "parent": ("GET", "/items/1", b"", [_TRACED, (b"baggage", b"a=1")]),
    "post": ("POST", "/items/1", b"", [(b"content-length", b"4")]),
    "unusual": ("BREW", "/items/1", b"", []),
    "no route": ("GET", "/nowhere", b"", []),
    "stream": ("GET", "/stream", b"", [_TRACED]),
    "raises": ("GET", "/raises", b"", []),
    "raises, parent": ("GET", "/raises", b"", [_TRACED]),
    "late": ("GET", "/late", b"", []),
    "excluded": ("GET", "/items/excluded", b"", []),
}
# With a dependency and a background task; with a number that is none.
_PARTS: dict[str, tuple[str, str, bytes, list[tuple[bytes, bytes]]]] = {
    "parts": ("GET", "/parts/1", b"a=1", [_TRACED]),
    "invalid": ("GET", "/parts/one", b"", []),
}


class ASGIServers(Servers):
    """The middleware of ASGI, Starlette and FastAPI."""

    #: Name of the step -> the request.
    requests = _REQUESTS

    def set_up(self) -> None:
        """What is patched where it is imported."""
        import opentelemetry.instrumentation.asgi
        import opentelemetry.instrumentation.fastapi
        import opentelemetry.instrumentation.starlette  # noqa: F401

    def run(self, host: Host) -> None:
        """Each request to each of them, in an event loop of its own."""
        self.error = host.error()
        asyncio.run(self._main(host))

    async def _main(self, host: Host) -> None:
        for kind, make in self.applications().items():
            app = host.step(f"{kind}: made", make)
            for name, request in self.requests.items():
                await host.astep(f"{kind}: {name}", self._serve, app, *request)
            await host.astep(f"{kind}: websocket", self._websocket, app)
            await host.astep(f"{kind}: lifespan", self._lifespan, app)
            await host.astep(f"{kind}: inside", self._inside, app)
            await host.astep(f"{kind}: server raises", self._server_raises, app, host)
            await host.astep(f"{kind}: hook raises", self._raising, app, host)

    def applications(self) -> dict[str, Callable[[], Any]]:
        """What makes each of them, by its name."""
        return {"asgi": self._asgi, "starlette": self._starlette, "fastapi": self._fastapi}

    def _scope(self, kind: str, method: str, path: str, query: bytes, headers: list[tuple[bytes, bytes]]) -> Any:
        scope = {
            "type": kind,
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http" if kind == "http" else "ws",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": query,
            "headers": [(b"host", b"testserver"), *headers],
            "client": ("1.2.3.4", 5),
            "server": ("testserver", 80),
        }
        return {**scope, "method": method} if kind == "http" else scope

    async def _serve(self, app: Any, method: str, path: str, query: bytes, headers: Any) -> Any:
        told: list[Any] = []
        given = [{"type": "http.request", "body": b"body", "more_body": False}]

        async def send(message: Any) -> None:
            answer = dict(message.get("headers", ())).get(b"x-answer")
            told.append((message["type"], message.get("status"), message.get("body"), answer))

        async def receive() -> Any:
            if not given:
                # The client stays: a framework that waits for it to leave stops when it has sent everything.
                await asyncio.Event().wait()
            return given.pop()

        await app(self._scope("http", method, path, query, headers), receive, send)
        return told

    async def _websocket(self, app: Any) -> Any:
        told: list[Any] = []
        given = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "hi"}]

        async def send(message: Any) -> None:
            told.append((message["type"], message.get("text")))

        async def receive() -> Any:
            return given.pop(0) if given else {"type": "websocket.disconnect", "code": 1000}

        await app(self._scope("websocket", "", "/socket", b"", [_TRACED]), receive, send)
        return told

    async def _lifespan(self, app: Any) -> Any:
        told: list[Any] = []
        given = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

        async def send(message: Any) -> None:
            told.append(message["type"])

        async def receive() -> Any:
            return given.pop(0)

        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
        return told

    async def _inside(self, app: Any) -> Any:
        """A request inside of the host's own span, which is the current one afterwards."""
        with trace.get_tracer("host").start_as_current_span("host's own") as span:
            return await self._serve(app, *_REQUESTS["get"]), trace.get_current_span() is span

    async def _server_raises(self, app: Any, host: Host) -> Any:
        error = host.error()

        async def fail(*_args: Any) -> Any:
            raise error

        await app(self._scope("http", "GET", "/items/1", b"", []), fail, fail)

    async def _raising(self, app: Any, host: Host) -> Any:
        """A request of which the hooks raise, if there are any."""
        self.raised = host.error() if self.has_hooks else None
        try:
            await self._serve(app, "GET", "/items/1", b"", [])
        except HostError as error:
            # After a fault of ours, there may be no span to call the hook with.
            return "fine" if error is self.raised else "another"
        finally:
            self.raised = None
        return "fine"

    def _given(self) -> dict[str, Any]:
        given = self.hooks("server_request_hook", "client_request_hook", "client_response_hook")
        providers = {name: self.telemetry.providers()[name] for name in ("tracer_provider", "meter_provider")}
        return {**given, **providers}

    def _asgi(self) -> Any:
        from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware

        return OpenTelemetryMiddleware(self._application, excluded_urls="excluded", **self._given())

    async def _application(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._talk(scope["type"], receive, send)
            return
        path = scope["path"]
        if path == "/raises":
            raise self.error  # type: ignore[misc]  # set by `run`
        body = (await receive())["body"]
        status = 404 if path == "/nowhere" else 200
        headers = [(b"x-answer", b"yes"), (b"content-length", b"4")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if path == "/late":
            raise self.error  # type: ignore[misc]  # likewise
        if path == "/stream":
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body", "body": body})

    async def _talk(self, kind: str, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept" if kind == "websocket" else "lifespan.startup.complete"})
        await receive()
        await send(
            {"type": "websocket.send", "text": "ho"} if kind == "websocket" else {"type": "lifespan.shutdown.complete"}
        )

    def _routes(self) -> dict[str, Any]:
        from starlette.responses import PlainTextResponse, StreamingResponse

        async def chunks(*, fails: bool) -> Any:
            yield b"a"
            if fails:
                raise self.error  # type: ignore[misc]  # set by `run`
            yield b"b"

        async def items(request: Any) -> Any:
            return PlainTextResponse(request.path_params["name"], headers={"X-Answer": "yes"})

        async def stream(request: Any) -> Any:
            return StreamingResponse(chunks(fails=request.url.path == "/late"))

        async def raises(_request: Any) -> Any:
            raise self.error  # type: ignore[misc]  # set by `run`

        return {"/items/{name}": items, "/stream": stream, "/late": stream, "/raises": raises}

    async def _socket(self, socket: Any) -> None:
        await socket.accept()
        await socket.receive_text()
        await socket.send_text("ho")

    def _starlette(self) -> Any:
        from opentelemetry.instrumentation.starlette import StarletteInstrumentor
        from starlette.applications import Starlette
        from starlette.routing import Route, WebSocketRoute

        routes = [Route(path, handler, methods=["GET", "POST"]) for path, handler in self._routes().items()]
        app = Starlette(routes=[*routes, WebSocketRoute("/socket", self._socket)])
        StarletteInstrumentor.instrument_app(app, **self._given())
        return app

    def _fastapi(self) -> Any:
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

        app = self.made_with_fastapi()
        FastAPIInstrumentor.instrument_app(app, **self._given())
        return app

    def made_with_fastapi(self, **settings: Any) -> Any:
        """An application of FastAPI that is set up with this."""
        from fastapi import FastAPI, Request, WebSocket

        app = FastAPI(openapi_url=None, **settings)
        for path, handler in self._routes().items():
            handler.__annotations__ = dict.fromkeys(handler.__annotations__, Request)
            handler.__annotations__.pop("return", None)
            app.add_api_route(path, handler, methods=["GET", "POST"])

        async def socket(websocket: Any) -> None:
            await self._socket(websocket)

        # FastAPI reads them when the route is added.
        socket.__annotations__["websocket"] = WebSocket
        app.add_api_websocket_route("/socket", socket)
        return app


class ASGIServersHooks(ASGIServers):
    """The same with hooks and captured headers."""

    has_hooks = True


class FastAPIsOwn(ASGIServers):
    """FastAPI's own telemetry, with each of its signals and with none of the stock instrumentations."""

    requests = _REQUESTS | _PARTS

    def set_up(self) -> None:
        """What is patched where it is imported."""
        import fastapi  # noqa: F401  # releases before 0.142 have no telemetry

    def applications(self) -> dict[str, Callable[[], Any]]:
        """With all signals, and with some of them."""
        return {
            "all": self._own,
            "only metrics": lambda: self._own(tracing=False, logs=False),
            "only spans": lambda: self._own(metrics=False, logs=False, operation_spans=False),
            "excluded": lambda: self._own(exclude=lambda scope: "excluded" in scope["path"]),
        }

    def _own(self, **settings: Any) -> Any:
        from fastapi import BackgroundTasks, Depends

        app = self.made_with_fastapi(telemetry={**self.telemetry.providers(), **settings})
        ran: list[int] = []

        async def dependency() -> int:
            return 7

        def parts(number: Any, tasks: Any, other: Any) -> Any:
            tasks.add_task(ran.append, number)
            return {"number": number, "other": other, "ran": len(ran)}

        parts.__annotations__ = {"number": int, "tasks": BackgroundTasks}
        parts.__defaults__ = (Depends(dependency),)
        app.add_api_route("/parts/{number}", parts)
        return app
