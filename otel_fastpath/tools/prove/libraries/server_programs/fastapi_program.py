"""Applications of FastAPI, with `opentelemetry-instrumentation-fastapi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, FastAPI
from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor

from otel_fastpath.tools.prove.libraries.modes import excluded, hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import HOOKS, call_asgi
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import ALONE, ALWAYS_SERVED, PATHS, serve
from otel_fastpath.tools.prove.libraries.server_programs.starlette_program import HOSTS, add_routes, answer

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

INCLUDED: Final = ("/api/items/3", "/api/nothing")
# A URL with such a path cannot be parsed.
_UNPARSED: Final = "//[odd"
_PATHS: Final = (*PATHS, *INCLUDED, _UNPARSED)


def add_operations(app: Any) -> None:
    """Let the application answer requests."""
    router = APIRouter()
    router.add_api_route("/items/{number}", lambda number: number, methods=["GET", "POST"])
    app.include_router(router, prefix="/api")
    app.add_api_route("/items/{number}", lambda number: number)
    app.add_route("/status/{code}", answer)
    app.add_route("/health", answer)
    app.add_route("/boom", answer)


def run_fastapi(run: ProgramRun) -> None:
    """An instrumented application."""
    telemetry = run.telemetry()

    def make() -> Any:
        app = FastAPI(openapi_url=None)
        (add_operations if run.seed % 2 else add_routes)(app)
        app.add_api_route(_UNPARSED, lambda: "odd")
        given = providers(telemetry, "tracer", "meter")
        with setting_up(telemetry):
            FastAPIInstrumentor.instrument_app(app, **given, **hooks(run, HOOKS, may_fail=True), **excluded(run))
        return app

    with in_mode(run):
        app = make()
    serve(run, telemetry, lambda request: call_asgi(make() if request.path in ALONE else app, request), _PATHS, HOSTS)
    FastAPIInstrumentor.uninstrument_app(app)
    run.attempt(call_asgi, app, ALWAYS_SERVED)


PROGRAM: Final = run_fastapi
