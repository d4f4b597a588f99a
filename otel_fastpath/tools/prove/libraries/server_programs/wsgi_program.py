"""Applications of WSGI, with the middleware of `opentelemetry-instrumentation-wsgi`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry.instrumentation.wsgi import OpenTelemetryMiddleware

from otel_fastpath.tools.prove.libraries.modes import hooks, in_mode, providers
from otel_fastpath.tools.prove.libraries.server_programs.requests_drawn import call_wsgi, serve, status_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otel_fastpath.tools.prove.program import ProgramRun


def _serve(environ: Any, start_response: Any) -> Iterable[bytes]:
    status = status_of(environ["PATH_INFO"])
    headers = [("Content-Length", "4"), ("X-Answer", "yes"), ("Content-Type", "text/plain")]
    start_response(f"{status} Words", headers)
    return iter([b"it", b"em"])


def run_wsgi(run: ProgramRun) -> None:
    """A middleware around an application."""
    telemetry = run.telemetry()
    given = providers(telemetry, "tracer", "meter")
    with in_mode(run):
        app = OpenTelemetryMiddleware(_serve, **hooks(run, ("request_hook", "response_hook")), **given)
    serve(run, telemetry, lambda request: call_wsgi(app, request))


PROGRAM: Final = run_wsgi
