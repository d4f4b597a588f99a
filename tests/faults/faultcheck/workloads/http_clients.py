"""HTTP clients with the stock instrumentations, on a server in another process."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.instrumentation.utils import suppress_http_instrumentation
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from faultcheck import loopback
from faultcheck.host import HostError
from faultcheck.workloads.base import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultcheck.host import Host

# A port at which there is no server.
_REFUSED = "http://127.0.0.1:1/"
_CAPTURED = {"captured_request_headers": ["x-ask"], "captured_response_headers": ["x-answer"]}


class _Clients(Workload):
    """The server, the instrumentations, and what the user gives them."""

    about = ("otel_fastpath/http/",)
    #: Whether the user has hooks and captures headers.
    has_hooks = False
    #: Modules of the stock instrumentations, and their classes.
    instrumentors: tuple[tuple[str, str], ...] = ()

    def prepare(self) -> None:
        """The server, and the stock instrumentations."""
        # Both conventions; read when the instrumentations are imported and set up.
        os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "http/dup"
        os.environ["OTEL_PYTHON_EXCLUDED_URLS"] = "excluded"
        self._server, self.url = loopback.start()
        self.telemetry.tracer_provider.add_span_processor(SimpleSpanProcessor(self.telemetry.exporter()))
        self.tracer = self.telemetry.tracer_provider.get_tracer("host")
        self.raised: BaseException | None = None
        given = self.telemetry.providers()
        if self.has_hooks:
            given.update(request_hook=self._hook, response_hook=self._hook, **_CAPTURED)
            given.update(async_request_hook=self._async_hook, async_response_hook=self._async_hook)
        for module, name in self.instrumentors:
            imported = __import__(f"opentelemetry.instrumentation.{module}", fromlist=[name])
            getattr(imported, name)().instrument(**given)

    def _hook(self, span: Any, *_args: Any) -> None:
        span.set_attribute("hooked", "yes")
        if self.raised is not None:
            raise self.raised

    async def _async_hook(self, span: Any, *_args: Any) -> None:
        self._hook(span)

    def kinds(self, get: Callable[..., Any], host: Host) -> dict[str, Callable[[], Any]]:
        """The steps that all clients have; `get(url, body)` makes a call."""
        url = self.url
        return {
            "get": lambda: get(f"{url}/200?a=1"),
            "again": lambda: get(f"{url}/200?a=1"),
            "sent": lambda: get(f"{url}/200", b"body"),
            "not found": lambda: get(f"{url}/404"),
            "error": lambda: get(f"{url}/500?sig=a"),
            "redirect": lambda: get(f"{url}/redirect"),
            "excluded": lambda: get(f"{url}/200?excluded"),
            "closed": lambda: get(f"{url}/close"),
            "refused": lambda: get(_REFUSED),
            "hook": lambda: self._raising(host, lambda: get(f"{url}/200")),
        }

    def _raising(self, host: Host, call: Callable[[], Any]) -> Any:
        """A call of which the hook raises, if there is one."""
        self.raised = host.error() if self.has_hooks else None
        try:
            call()
        except HostError as error:
            # After a fault of ours, there may be no span to call the hook with.
            return "fine" if error is self.raised else "another"
        finally:
            self.raised = None
        return "fine"

    def _within(self, call: Callable[[], Any]) -> Any:
        """A call inside of the host's own span."""
        with self.tracer.start_as_current_span("host's own") as span:
            return call(), trace.get_current_span() is span

    def _suppressed(self, call: Callable[[], Any]) -> Any:
        with suppress_http_instrumentation():
            return call()


def _told(errors: tuple[type[BaseException], ...], call: Callable[[], Any]) -> Any:
    """What a call returns, or the name of the library's exception that it raises: its text has addresses."""
    try:
        return call()
    except errors as error:
        return type(error).__name__


class HTTPClients(_Clients):
    """urllib3, requests and httpx."""

    instrumentors = (
        ("urllib3", "URLLib3Instrumentor"),
        ("requests", "RequestsInstrumentor"),
        ("httpx", "HTTPXClientInstrumentor"),
    )

    def run(self, host: Host) -> None:
        """Each of them with a pool or session of its own."""
        import httpx
        import requests
        import urllib3

        with urllib3.PoolManager(retries=False) as pool:

            def get(url: str, body: Any = None) -> Any:
                answer = pool.request("POST" if body else "GET", url, body=body, headers={"X-Ask": "1"})
                return answer.status, answer.data, answer.headers["X-Answer"]

            self._steps("urllib3", host, get, (urllib3.exceptions.HTTPError,))
            by_hand = urllib3.connectionpool.connection_from_url(self.url)
            host.step("urllib3: by name", lambda: by_hand.urlopen(method="GET", url="/200", retries=False).data)
            host.step("urllib3: all", lambda: by_hand.urlopen("POST", "/200", b"body", {"X-Ask": "1"}, 0).data)
            by_hand.close()
        with requests.Session() as session:
            session.trust_env = False

            def send(url: str, body: Any = None, **more: Any) -> Any:
                answer = session.request("POST" if body else "GET", url, data=body, headers={"X-Ask": "1"}, **more)
                return answer.status_code, answer.content, answer.headers["X-Answer"], len(answer.history)

            self._steps("requests", host, send, (requests.RequestException,))
            host.step("requests: raises", lambda: send(f"{self.url}/200", hooks={"response": _failing(host)}))
        with httpx.Client(follow_redirects=True, trust_env=False) as client:

            def call(url: str, body: Any = None) -> Any:
                answer = client.request("POST" if body else "GET", url, content=body, headers={"X-Ask": "1"})
                return answer.status_code, answer.content, answer.headers["X-Answer"], len(answer.history)

            self._steps("httpx", host, call, (httpx.HTTPError,))
        with httpx.Client(transport=self._transport(httpx, host)) as client:
            host.step("httpx: transport", lambda: client.get("http://a/200").status_code)
            host.step("httpx: transport raises", lambda: client.get("http://a/raises").status_code)

    def _steps(self, name: str, host: Host, get: Any, errors: tuple[type[BaseException], ...]) -> None:
        for kind, call in self.kinds(get, host).items():
            host.step(f"{name}: {kind}", _told, errors, call)
        host.step(f"{name}: within", self._within, lambda: get(f"{self.url}/200"))
        host.step(f"{name}: suppressed", self._suppressed, lambda: get(f"{self.url}/200"))

    def _transport(self, httpx: Any, host: Host) -> Any:
        from opentelemetry.instrumentation.httpx import SyncOpenTelemetryTransport

        return SyncOpenTelemetryTransport(httpx.MockTransport(_answer(httpx, host)), self.telemetry.tracer_provider)


class HTTPClientsHooks(HTTPClients):
    """The same with hooks and captured headers."""

    has_hooks = True


class HTTPClientsAsync(_Clients):
    """httpx and aiohttp's client."""

    instrumentors = (("httpx", "HTTPXClientInstrumentor"), ("aiohttp_client", "AioHttpClientInstrumentor"))

    def run(self, host: Host) -> None:
        """In an event loop of its own."""
        asyncio.run(self._main(host))

    async def _main(self, host: Host) -> None:
        import aiohttp
        import httpx

        async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as client:

            async def call(url: str, body: Any = None) -> Any:
                answer = await client.request("POST" if body else "GET", url, content=body, headers={"X-Ask": "1"})
                return answer.status_code, answer.content, answer.headers["X-Answer"], len(answer.history)

            await self._steps("httpx", host, call, (httpx.HTTPError,))
        async with httpx.AsyncClient(transport=self._transport(httpx, host)) as client:
            await host.astep("httpx: transport", _status, client, "http://a/200")
            await host.astep("httpx: transport raises", _status, client, "http://a/raises")
        async with aiohttp.ClientSession() as session:

            async def get(url: str, body: Any = None) -> Any:
                async with session.request("POST" if body else "GET", url, data=body, headers={"X-Ask": "1"}) as answer:
                    return answer.status, await answer.read(), answer.headers["X-Answer"], len(answer.history)

            await self._steps("aiohttp", host, get, (aiohttp.ClientError,))

    async def _steps(self, name: str, host: Host, get: Any, errors: tuple[type[BaseException], ...]) -> None:
        for kind, call in self.kinds(get, host).items():
            await host.astep(f"{name}: {kind}", self._told, errors, call)
        await host.astep(f"{name}: within", self._within_async, get)
        await host.astep(f"{name}: suppressed", self._suppressed_async, get)
        await host.astep(f"{name}: cancelled", self._cancelled, get)

    async def _told(self, errors: tuple[type[BaseException], ...], call: Callable[[], Any]) -> Any:
        try:
            return await call()
        except errors as error:
            return type(error).__name__

    async def _within_async(self, get: Any) -> Any:
        with self.tracer.start_as_current_span("host's own") as span:
            return await get(f"{self.url}/200"), trace.get_current_span() is span

    async def _suppressed_async(self, get: Any) -> Any:
        with suppress_http_instrumentation():
            return await get(f"{self.url}/200")

    async def _cancelled(self, get: Any) -> Any:
        task = asyncio.ensure_future(get(f"{self.url}/200"))
        await asyncio.sleep(0)
        task.cancel()
        try:
            return await task
        except asyncio.CancelledError:
            return "cancelled"

    def _raising(self, host: Host, call: Callable[[], Any]) -> Any:
        async def raising() -> Any:
            self.raised = host.error() if self.has_hooks else None
            try:
                await call()
            except HostError as error:
                return "fine" if error is self.raised else "another"
            finally:
                self.raised = None
            return "fine"

        return raising()

    def _transport(self, httpx: Any, host: Host) -> Any:
        from opentelemetry.instrumentation.httpx import AsyncOpenTelemetryTransport

        return AsyncOpenTelemetryTransport(httpx.MockTransport(_answer(httpx, host)), self.telemetry.tracer_provider)


class HTTPClientsAsyncHooks(HTTPClientsAsync):
    """The same with hooks and captured headers."""

    has_hooks = True


async def _status(client: Any, url: str) -> Any:
    return (await client.get(url)).status_code


def _answer(httpx: Any, host: Host) -> Callable[[Any], Any]:
    """What answers the calls of a transport; for one path it raises the host's own exception."""
    error = host.error()

    def answer(request: Any) -> Any:
        if request.url.path == "/raises":
            raise error
        return httpx.Response(200)

    return answer


def _failing(host: Host) -> Callable[..., None]:
    """A function that requests calls with the response."""
    error = host.error()

    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise error

    return fail
