"""Applications of WSGI, with the middleware of `opentelemetry-instrumentation-wsgi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers, setting_up
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import (
    ODD_HOSTS,
    PATHS,
    call_wsgi,
    serve,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import Request
    from otel_fastpath.tools.prove.program import ProgramRun


_PATHS: Final = (*PATHS, "", "/status/odd")


class _ClosedBody:
    """A body that has to be closed."""

    def __init__(self) -> None:
        self._parts = iter([b"it", b"em"])

    def __iter__(self) -> Iterator[bytes]:
        return self._parts

    def close(self) -> None:
        """Close it."""


def _serve(environ: Any, start_response: Any) -> Iterable[bytes]:
    status = status_of(environ["PATH_INFO"])
    headers = [("Content-Length", "4"), ("X-Answer", "yes"), ("X-Answer", "no"), ("Content-Type", "text/plain")]
    start_response(f"{status} Words", headers)
    return iter([b"it", b"em"]) if environ["PATH_INFO"] == "/items/3" else _ClosedBody()


def run_wsgi(run: ProgramRun) -> None:
    """A middleware around an application."""
    telemetry = run.telemetry()
    given = providers(telemetry, "tracer", "meter")
    with in_mode(run), setting_up(telemetry):
        app = OpenTelemetryMiddleware(_serve, **hooks(run, ("request_hook", "response_hook")), **given)

    def ask(request: Request) -> tuple[Any, ...]:
        more = {"REMOTE_PORT": "odd"} if request.path == "" else {}
        if request.path.startswith("/items"):
            more = {"REMOTE_HOST": "client", "RAW_URI": f"{request.path}?{request.query}"}
        return call_wsgi(app, request, **more)

    serve(run, telemetry, ask, _PATHS, ODD_HOSTS)


PROGRAM: Final = run_wsgi
