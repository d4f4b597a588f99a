"""Applications of Starlette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.starlette import StarletteInstrumentor
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import HOOKS, call_asgi
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import LONG_PATHS, serve, status_of

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

_PATHS: Final = (*(path for path in LONG_PATHS if path != "/boom"), "/below/items/3", "/below/nothing")


async def answer(request: Any) -> Any:
    """The answer to any request."""
    return PlainTextResponse("item", status_of(request.url.path), {"x-answer": "yes"})


def add_routes(app: Any) -> None:
    """Let the application answer requests."""
    item = Route("/items/{number}", answer, methods=["GET", "POST"])
    app.router.routes += [item, Route("/status/{code}", answer), Route("/health", answer), Route("/boom", answer)]
    app.router.routes += [Mount("/below", routes=[item])]


def run_starlette(run: ProgramRun) -> None:
    """An instrumented application."""
    telemetry = run.telemetry()
    app = Starlette()
    add_routes(app)
    with in_mode(run):
        StarletteInstrumentor.instrument_app(app, **providers(telemetry, "tracer", "meter"), **hooks(run, HOOKS))
    serve(run, telemetry, lambda request: call_asgi(app, request), _PATHS)


PROGRAM: Final = run_starlette
