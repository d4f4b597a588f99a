"""Applications of Starlette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.starlette import StarletteInstrumentor
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Host, Mount, Route, WebSocketRoute

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import HOOKS, call_asgi, in_websocket
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ALONE,
    ALWAYS_SERVED,
    ODD_HOSTS,
    PATHS,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

_PATHS: Final = (*PATHS, "/below/items/3", "/below/nothing")
# The last one has routes of its own.
HOSTS: Final = (*ODD_HOSTS, "other")


async def answer(request: Any) -> Any:
    """The answer to any request."""
    return PlainTextResponse("item", status_of(request.scope["path"]), {"x-answer": "yes"})


async def _talk(socket: Any) -> None:
    await socket.accept()
    await socket.send_text(await socket.receive_text())
    await socket.receive()


def add_routes(app: Any) -> None:
    """Let the application answer requests."""
    item = Route("/items/{number}", answer, methods=["GET", "POST"])
    app.router.routes += [item, Route("/status/{code}", answer), Route("/health", answer), Route("/boom", answer)]
    app.router.routes += [Mount("/below", routes=[item]), WebSocketRoute("/talk", _talk)]
    app.router.routes.insert(0, Host("other", Starlette(routes=[item])))


def run_starlette(run: ProgramRun) -> None:
    """An instrumented application."""
    telemetry = run.telemetry()

    def make() -> Any:
        app = Starlette()
        add_routes(app)
        given = providers(telemetry, "tracer", "meter")
        with setting_up(telemetry):
            StarletteInstrumentor.instrument_app(app, **given, **hooks(run, HOOKS, may_fail=True))
        return app

    with in_mode(run):
        app = make()
        run.attempt(in_websocket, app, "/talk")
    serve(run, telemetry, lambda request: call_asgi(make() if request.path in ALONE else app, request), _PATHS, HOSTS)
    StarletteInstrumentor.uninstrument_app(app)
    run.attempt(call_asgi, app, ALWAYS_SERVED)


PROGRAM: Final = run_starlette
