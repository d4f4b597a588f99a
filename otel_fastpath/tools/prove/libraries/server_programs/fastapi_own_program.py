"""Applications of FastAPI with its own telemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import fastapi.telemetry  # noqa: F401  # not in every release
from fastapi import BackgroundTasks, Depends, FastAPI, HTTPException, WebSocket
from opentelemetry.instrumentation.asgi import OpenTelemetryMiddleware
from opentelemetry.trace import NoOpTracerProvider

from otel_fastpath.tools.prove.libraries.modes import in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.asgi_program import call_asgi, in_websocket
from otel_fastpath.tools.prove.libraries.server_programs.fastapi_program import INCLUDED, add_operations
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ODD_HOSTS,
    PATHS,
    AppError,
    Request,
    serve,
)

if TYPE_CHECKING:
    from otel_fastpath.tools.prove.program import ProgramRun

_OPERATIONS: Final = ("/tasks/3", "/tasks/0", "/tasks/x", "/checked/1", "/checked/0", "/checked/418")
# The code with which the client leaves, or something that is none.
_SOCKETS: Final = ("/socket/1000", "/socket/1006", "/socket/0", "/socket/x", "/socket/nothing/else")
# What the server is sent instead of a complete answer, or in other messages.
_RAW: Final = ("/raw/nothing", "/raw/gone", "/raw/begun", "/raw/file", "/raw/trailers")
_PATHS: Final = (*PATHS, *INCLUDED, *_OPERATIONS, *_SOCKETS, *_RAW, "/refused")
# Without those whose answers have no length, for which stock records that of an earlier one, and without a query that
# has a secret: docs/differences.md.
_LONG_PATHS: Final = ("/items/3", "/api/items/3", "/status/404", "/nowhere", "/tasks/3", "/checked/418")
_SETTINGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"exclude": lambda scope: scope["path"] in {"/items/3", "/status/404", "/boom", "/socket/1000"}},
    {"operation_spans": False, "logs": False},
    {},
    {"tracing": False},
    {"metrics": False, "logs": False, "tracer_provider": NoOpTracerProvider()},
    {"metrics": False},
)


def _do_task(number: int) -> None:
    if number == 0:
        raise AppError


def _run_task(number: int, tasks: BackgroundTasks) -> int:
    tasks.add_task(_do_task, number)
    return number


def _check(code: int) -> int:
    if code == 0:
        raise LookupError(code)
    if code > 1:
        raise HTTPException(code)
    return code


def _run_checked(code: int = Depends(_check)) -> int:
    return code


async def _talk(socket: WebSocket, code: int) -> None:
    await socket.accept()
    await socket.send_text(await socket.receive_text())
    if code == 0:
        raise AppError
    await socket.receive_text()


async def _send_raw(scope: Any, receive: Any, send: Any) -> None:
    kind = scope["path"].rpartition("/")[2]
    if kind == "nothing":
        return
    await receive()
    if kind == "gone":
        await receive()
        return
    trailers = kind == "trailers"
    await send({"type": "http.response.start", "status": 200, "headers": [], "trailers": trailers})
    if kind == "file":
        await send({"type": "http.response.pathsend", "path": "/dev/null"})
    if trailers:
        await send({"type": "http.response.body", "body": b"ok"})
        await send({"type": "http.response.trailers", "headers": [], "more_trailers": True})
        await send({"type": "http.response.trailers", "headers": []})


class _RefusingMiddleware:
    """Refuses some requests before the application looks for their route.

    Args:
        app: The application.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or raise."""
        if scope["path"] == "/refused":
            raise AppError
        await self._app(scope, receive, send)


def _call(app: Any, request: Request) -> tuple[Any, ...]:
    code = request.path.rpartition("/")[2]
    if not request.path.startswith("/socket"):
        query = "sig=secret&a=1" if request.path == "/health" else request.query
        return call_asgi(app, request._replace(query=query))
    left = {"type": "websocket.disconnect", "code": int(code) if code.isdecimal() else 1001}
    spoken = ({"type": "websocket.connect"}, {"type": "websocket.receive", "text": "a"}, left)
    return in_websocket(app, request.path, spoken)


def run_fastapi_own(run: ProgramRun) -> None:
    """An application with the providers of this run; one is instrumented a second time."""
    telemetry = run.telemetry()
    with in_mode(run), setting_up(telemetry):
        given: Any = providers(telemetry) | _SETTINGS[run.seed % len(_SETTINGS)]
        app = FastAPI(openapi_url=None, telemetry=given)
    add_operations(app)
    app.add_api_route("/tasks/{number}", _run_task)
    app.add_api_route("/checked/{code}", _run_checked)
    app.add_api_websocket_route("/socket/{code}", _talk)
    app.mount("/raw", _send_raw)
    app.add_middleware(_RefusingMiddleware)
    is_twice = run.seed % 4 == 3  # noqa: PLR2004  # one in four
    if is_twice:
        app.add_middleware(OpenTelemetryMiddleware, **providers(telemetry, "tracer", "meter"))
    paths = _LONG_PATHS if is_twice else _PATHS
    serve(run, telemetry, lambda request: _call(app, request), paths, ODD_HOSTS)


PROGRAM: Final = run_fastapi_own
