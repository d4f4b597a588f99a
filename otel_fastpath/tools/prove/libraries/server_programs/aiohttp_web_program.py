"""Applications of aiohttp.web on a loopback port."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from unittest import mock

import aiohttp
from aiohttp import web
from opentelemetry import metrics
from opentelemetry.instrumentation import aiohttp_server

from otel_fastpath.tools.prove.libraries.modes import in_mode, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ALWAYS_SERVED,
    PATHS,
    Request,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun


# Also a URL that cannot be parsed.
_RAW: Final = ("GET /items/3", "GET //[odd/?sig=secret", "PROPFIND /items/3?a=1")


async def _view(request: web.Request) -> web.Response:
    if request.path == "/status/500":
        raise web.HTTPServiceUnavailable
    return web.Response(text="item", status=status_of(request.path), headers={"X-Answer": "yes"})


async def _started() -> tuple[web.AppRunner, str]:
    app = web.Application()
    for pattern in ("/items/{number}", "/status/{code}", "/health", "/boom"):
        app.router.add_route("*", pattern, _view)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    return runner, f"http://{host}:{port}"


async def _ask_raw(url: str, line: str) -> str:
    """The status line of the answer to a request without headers."""
    reader, writer = await asyncio.open_connection(*url.removeprefix("http://").rsplit(":", 1))
    writer.write(f"{line} HTTP/1.0\r\n\r\n".encode())
    found = await reader.read()
    writer.close()
    await writer.wait_closed()
    return found.partition(b"\r\n")[0].decode()


async def _ask(url: str, request: Request) -> tuple[int, str]:
    # A request of HTTP has a length that is its body's.
    headers = {name: text for name, text in request.headers if name != "content-length"}
    target = f"{url}{request.path}{request.query and '?'}{request.query}"
    async with aiohttp.ClientSession() as client, client.request(request.method, target, headers=headers) as answer:
        return answer.status, await answer.text()


async def _ask_once() -> tuple[int, str]:
    runner, url = await _started()
    try:
        return await _ask(url, ALWAYS_SERVED)
    finally:
        await runner.cleanup()


def run_aiohttp_web(run: ProgramRun) -> None:
    """An application that is made while aiohttp.web is instrumented."""
    telemetry = run.telemetry()
    loop = asyncio.new_event_loop()
    instrumentor = aiohttp_server.AioHttpServerInstrumentor()
    # The instrumentation takes the global provider of meters, once.
    names = ("duration_histogram_old", "duration_histogram_new", "meter_old", "meter_new")
    kept = {name: getattr(aiohttp_server, name, None) for name in names}
    with mock.patch.object(metrics, "get_meter", lambda name, *_args, **_more: telemetry.meters.get_meter(name)):
        vars(aiohttp_server).update(dict.fromkeys(names))
        with in_mode(run), setting_up(telemetry):
            instrumentor.instrument(tracer_provider=telemetry.tracers)
            runner, url = loop.run_until_complete(_started())
        try:
            with in_mode(run):
                for line in _RAW:
                    run.attempt(lambda line=line: loop.run_until_complete(_ask_raw(url, line)))
            serve(run, telemetry, lambda request: loop.run_until_complete(_ask(url, request)), PATHS)
        finally:
            loop.run_until_complete(runner.cleanup())
            loop.close()
            instrumentor.uninstrument()
            vars(aiohttp_server).update(kept)
        run.attempt(asyncio.run, _ask_once())


PROGRAM: Final = run_aiohttp_web
